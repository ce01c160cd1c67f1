package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/ohgw/ohgw/internal/pause"
)

// Last returns the last n lines of a log, of the files before it too. A line
// that is not complete counts.
func Last(path string, n int) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for i := 1; lines(text) < n; i++ {
		before, err := os.ReadFile(older(path, i))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		text = append(before, text...)
	}
	return tail(text, n), nil
}

// Since returns what was written to the log after its first offset bytes, at
// most its last n lines.
func Since(path string, offset int64, n int) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return tail(text[min(max(0, offset), int64(len(text))):], n), nil
}

func lines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// tail returns the last n lines of text.
func tail(text []byte, n int) []byte {
	if n <= 0 {
		return nil
	}
	for end := len(bytes.TrimSuffix(text, []byte("\n"))); ; n-- {
		i := bytes.LastIndexByte(text[:end], '\n')
		switch {
		case i < 0:
			return text
		case n == 1:
			return text[i+1:]
		}
		end = i
	}
}

// look is the time between two looks at a log that is followed.
const look = 100 * time.Millisecond

// Follow writes the last n lines of a log to w and then what is added, until ctx
// ends. A log that is put away meanwhile is read to its end first.
func Follow(ctx context.Context, path string, n int, w io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // It was only read.
	at, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	last, err := lastBefore(path, at, n)
	if err == nil {
		_, err = w.Write(last)
	}
	if err != nil {
		return err
	}
	for {
		if _, err := io.Copy(w, file); err != nil {
			return err
		}
		next, err := successor(path, file)
		if err != nil {
			return err
		}
		if next != nil {
			_, err := io.Copy(w, file) // what came before it was put away
			_ = file.Close()
			if file = next; err != nil {
				return err
			}
			continue
		}
		if err := pause.For(ctx, look); err != nil {
			return err
		}
	}
}

// lastBefore is the last n lines of a log before an offset of its file.
func lastBefore(path string, at int64, n int) ([]byte, error) {
	text, err := Last(path, n)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > at {
		added := info.Size() - at // that much comes again
		text = text[:max(0, int64(len(text))-added)]
	}
	return text, nil
}

// successor opens the file that has taken the place of one that was put away,
// and starts again at the beginning of one that was cut; nil where nothing has
// happened.
func successor(path string, file *os.File) (*os.File, error) {
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // between two names
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, now) {
		next, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return next, err
	}
	if at, err := file.Seek(0, io.SeekCurrent); err != nil || at > info.Size() {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
	}
	return nil, nil
}
