package shell

import "unicode/utf8"

// buffer collects what a command prints until an event is full.
type buffer struct {
	raw     []byte
	scanned int // the bytes of raw that were counted
	chars   int // in them
}

// add takes a piece and returns the texts that are full.
func (b *buffer) add(data []byte) (full []string) {
	b.raw = append(b.raw, data...)
	for b.scanned < len(b.raw) && utf8.FullRune(b.raw[b.scanned:]) {
		_, n := utf8.DecodeRune(b.raw[b.scanned:])
		if b.chars == maxChunk {
			full = append(full, text(b.raw[:b.scanned]))
			b.raw = append([]byte(nil), b.raw[b.scanned:]...)
			b.scanned, b.chars = 0, 0
		}
		b.scanned += n
		b.chars++
	}
	return full
}

// rest is what has not filled an event; nil if there is none.
func (b *buffer) rest() *string {
	if len(b.raw) == 0 {
		return nil
	}
	t := text(b.raw)
	return &t
}

// text has the replacement character for each byte that is not UTF-8.
func text(raw []byte) string {
	if utf8.Valid(raw) {
		return string(raw)
	}
	return string([]rune(string(raw)))
}
