package picture

import (
	"bufio"
	"encoding/binary"
)

// pngChunk is the beginning of a chunk.
type pngChunk struct {
	name   string
	length int64
}

// readPNG reads the chunks up to the last.
func readPNG(r *bufio.Reader) error {
	if err := skip(r, 8); err != nil {
		return err
	}
	if err := pngHeader(r); err != nil {
		return err
	}
	for data := false; ; {
		c, err := nextChunk(r)
		if err != nil {
			return err
		}
		if err := skip(r, c.length+4); err != nil { // with its checksum
			return err
		}
		switch {
		case c.name == "IDAT" && c.length > 0:
			data = true
		case c.name == "IEND" && data:
			return nil
		case c.name == "IEND":
			return refusef(whyBad)
		}
	}
}

func nextChunk(r *bufio.Reader) (pngChunk, error) {
	b, err := take(r, 8)
	if err != nil {
		return pngChunk{}, err
	}
	length := int64(binary.BigEndian.Uint32(b))
	if length > 1<<31-1 {
		return pngChunk{}, refusef(whyBad)
	}
	return pngChunk{string(b[4:]), length}, nil
}

// pngHeader reads the first chunk, which has the sides.
func pngHeader(r *bufio.Reader) error {
	const headerLen = 13
	c, err := nextChunk(r)
	if err != nil {
		return err
	}
	if c.name != "IHDR" || c.length != headerLen {
		return refusef(whyBad)
	}
	b, err := take(r, headerLen+4)
	if err != nil {
		return err
	}
	if binary.BigEndian.Uint32(b) == 0 || binary.BigEndian.Uint32(b[4:]) == 0 {
		return refusef(whyEmpty)
	}
	return nil
}
