package picture

import (
	"bufio"
	"encoding/binary"
)

// readWebP reads the size that the file announces, and the sides in its first chunk.
func readWebP(r *bufio.Reader) error {
	const riffLen, chunkLen = 12, 8
	head, err := take(r, riffLen+chunkLen)
	if err != nil {
		return err
	}
	left := int64(binary.LittleEndian.Uint32(head[4:])) - 4 - chunkLen
	const sidesLen = 10
	body, err := take(r, sidesLen)
	if err != nil {
		return err
	}
	switch string(head[riffLen : riffLen+4]) {
	case "VP8 ":
		if string(body[3:6]) != "\x9d\x01\x2a" {
			return refusef(whyBad)
		}
		const side = 1<<14 - 1
		if binary.LittleEndian.Uint16(body[6:])&side == 0 || binary.LittleEndian.Uint16(body[8:])&side == 0 {
			return refusef(whyEmpty)
		}
	case "VP8L":
		if body[0] != 0x2f {
			return refusef(whyBad)
		}
	case "VP8X": // its sides are one less than those of the picture
	default:
		return refusef(whyBad)
	}
	if left < sidesLen {
		return refusef(whyBad)
	}
	return skip(r, left-sidesLen)
}
