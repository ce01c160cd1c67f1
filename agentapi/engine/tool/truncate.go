package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/truncate"
)

// How many characters of a result the model is shown.
const (
	LimitTerminal = 30_000
	LimitFile     = 16_000
	LimitBrowser  = 50_000
)

// Truncate keeps a head and a tail of a text that is longer than limit
// characters, the head being the larger half, with a notice between them. The
// result is not longer than limit. With a directory, the whole text is first
// saved there, and the notice says where, and at which line the cut begins.
//
// A text that cannot be saved is cut all the same; the error says why.
func Truncate(text string, limit int, dir, prefix string) (string, error) {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text, nil
	}
	var saved string
	var err error
	if dir != "" {
		saved, err = SaveOutput(dir, prefix, text)
	}
	return cut(text, limit, saved), err
}

// cut is a text of which a part is left out, and is saved in a file; "" if it is not.
func cut(text string, limit int, saved string) string {
	// The longest the notice can be: its number is not known yet.
	room := limit - utf8.RuneCountInString(CutNotice(saved, strings.Count(text, "\n")+1))
	if room <= 0 {
		return truncate.Head(CutNotice(saved, 1), limit)
	}
	head := truncate.Head(text, room-room/2)
	return head + CutNotice(saved, strings.Count(head, "\n")+1) + truncate.Tail(text, room/2)
}

// CutNotice is the line between the head and the tail of a text: that
// something is missing from that line on (the first is 1), and where it is.
func CutNotice(saved string, line int) string {
	if saved == "" {
		return fmt.Sprintf("\n[... a part is left out here, from line %d on: the result is too long ...]\n", line)
	}
	return fmt.Sprintf("\n[... a part is left out here, from line %d on: the result is too long. "+
		"All of it is in %s and other tools can read it ...]\n", line, saved)
}

// SaveOutput writes the whole of a long result into dir, as
// <prefix>_output_<hash>.txt with 8 hex digits of the text's SHA-256, and
// gives the path. The same text is saved once.
func SaveOutput(dir, prefix, text string) (string, error) {
	sum := sha256.Sum256([]byte(text))
	path := filepath.Join(dir, OutputName(prefix, sum[:]))
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("save output: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("save output: %w", err)
	}
	if err := atomicfile.Write(path, []byte(text), atomicfile.Options{}); err != nil {
		return "", fmt.Errorf("save output: %w", err)
	}
	PruneOutputs(dir, MaxOutputs)
	return path, nil
}

// OutputName is the name of a file for a result with that SHA-256.
func OutputName(prefix string, sum []byte) string {
	return prefix + "_output_" + hex.EncodeToString(sum[:4]) + ".txt"
}
