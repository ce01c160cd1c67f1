package picture

import (
	"bufio"
	"encoding/binary"
)

// The markers of JPEG that count here.
const (
	endOfImage  = 0xd9
	startOfScan = 0xda
)

// readJPEG reads the segments up to the first scan, and looks for the end mark
// behind it: within a scan no such bytes stand.
func readJPEG(r *bufio.Reader) error {
	if err := skip(r, 2); err != nil {
		return err
	}
	for framed := false; ; {
		marker, err := jpegMarker(r)
		switch {
		case err != nil:
			return err
		case marker == startOfScan && framed:
			return jpegEnd(r)
		case marker == startOfScan || marker == endOfImage:
			return refusef(whyBad)
		case isFrame(marker):
			framed = true
		}
		if err := jpegSegment(r, marker); err != nil {
			return err
		}
	}
}

// jpegMarker reads a marker, with the bytes that fill up before it.
func jpegMarker(r *bufio.Reader) (byte, error) {
	b, err := r.ReadByte()
	if err != nil {
		return 0, err
	}
	if b != 0xff {
		return 0, refusef(whyBad)
	}
	for b == 0xff {
		if b, err = r.ReadByte(); err != nil {
			return 0, err
		}
	}
	return b, nil
}

// isFrame reports whether a marker begins a frame: SOF0 to SOF15, between which
// three markers are others.
func isFrame(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}

// jpegSegment reads what is behind a marker. That of a frame has the sides.
func jpegSegment(r *bufio.Reader, marker byte) error {
	if marker == 0x01 || marker >= 0xd0 && marker <= 0xd7 {
		return nil // without a length
	}
	b, err := take(r, 2)
	if err != nil {
		return err
	}
	length := int64(binary.BigEndian.Uint16(b)) - 2
	const sidesLen = 5
	if length < 0 || isFrame(marker) && length < sidesLen {
		return refusef(whyBad)
	}
	if isFrame(marker) {
		b, err := take(r, sidesLen)
		if err != nil {
			return err
		}
		if binary.BigEndian.Uint16(b[1:]) == 0 || binary.BigEndian.Uint16(b[3:]) == 0 {
			return refusef(whyEmpty)
		}
		length -= sidesLen
	}
	return skip(r, length)
}

func jpegEnd(r *bufio.Reader) error {
	for last := byte(0); ; {
		b, err := r.ReadByte()
		if err != nil {
			return err
		}
		if last == 0xff && b == endOfImage {
			return nil
		}
		last = b
	}
}
