package picture

import (
	"bufio"
	"encoding/binary"
)

// readGIF reads the blocks up to the end of the first frame. A file without its
// last byte is taken: decoders take it, too.
func readGIF(r *bufio.Reader) error {
	head, err := take(r, 13)
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint16(head[6:]) == 0 || binary.LittleEndian.Uint16(head[8:]) == 0 {
		return refusef(whyEmpty)
	}
	if err := skip(r, colors(head[10])); err != nil {
		return err
	}
	for {
		b, err := r.ReadByte()
		if err != nil {
			return err
		}
		const extension, frame = 0x21, 0x2c
		switch b {
		case extension:
			if err := skip(r, 1); err != nil {
				return err
			}
			if err := subBlocks(r); err != nil {
				return err
			}
		case frame:
			place, err := take(r, 9)
			if err != nil {
				return err
			}
			if err := skip(r, colors(place[8])+1); err != nil {
				return err
			}
			return subBlocks(r)
		default:
			return refusef(whyBad)
		}
	}
}

// colors is the size of the table of colours that flags announce.
func colors(flags byte) int64 {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

func subBlocks(r *bufio.Reader) error {
	for {
		n, err := r.ReadByte()
		if err != nil || n == 0 {
			return err
		}
		if err := skip(r, int64(n)); err != nil {
			return err
		}
	}
}
