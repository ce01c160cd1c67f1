package cloud

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
)

// The most that is read of an archive. A small one can claim to be enormous.
const (
	maxEvent   = 64 << 20
	maxEvents  = 1_000_000
	maxContent = 4 << 30
)

// convert writes a downloaded trajectory in another format.
func convert(w io.Writer, f *os.File, conv account.Conversation, format string) error {
	out := eventWriter{w: w, format: format}
	if err := out.begin(conv); err != nil {
		return err
	}
	read := readZip
	if conv.Version == account.V0 {
		read = readList
	}
	if err := read(f, out.event); err != nil {
		return err
	}
	return out.end()
}

// eventWriter writes events in a format.
type eventWriter struct {
	w      io.Writer
	format string
	some   bool
}

func (e *eventWriter) begin(conv account.Conversation) error {
	switch e.format {
	case formatJSON:
		_, err := io.WriteString(e.w, `{"trajectory": [`)
		return err
	case formatText:
		_, err := fmt.Fprintf(e.w, "# %s\n\n%s\n", setup.Clean(conv.Title), conv.WebURL)
		return err
	}
	return nil
}

func (e *eventWriter) event(raw json.RawMessage) error {
	if e.format == formatText {
		return e.paragraph(raw)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return fault.New("the trajectory has an event that is not JSON", "download it as it is: --format zip", err)
	}
	before, after := "", "\n"
	if e.format == formatJSON {
		before, after = "\n", ""
		if e.some {
			before = ",\n"
		}
	}
	e.some = true
	_, err := io.WriteString(e.w, before+line.String()+after)
	return err
}

func (e *eventWriter) end() error {
	if e.format != formatJSON {
		return nil
	}
	_, err := io.WriteString(e.w, "\n]}\n")
	return err
}

// paragraph writes what an event says, for people.
func (e *eventWriter) paragraph(raw json.RawMessage) error {
	event := account.ReadEvent(raw)
	said := event.Text
	if said == "" {
		return nil
	}
	at := ""
	if !event.Time.IsZero() {
		at = " · " + event.Time.Format("2006-01-02 15:04:05")
	}
	_, err := fmt.Fprintf(e.w, "\n## %s%s\n\n%s\n", event.Source, at, strings.TrimSpace(said))
	return err
}

// readZip reads the events of V1's archive in their order.
func readZip(f *os.File, event func(json.RawMessage) error) error {
	broken := func(why string, err error) error {
		return fault.New("the archive of the trajectory cannot be read: "+why, "try again, or download it as it is: --format zip", err)
	}
	info, err := f.Stat()
	if err != nil {
		return broken("it is gone", err)
	}
	archive, err := zip.NewReader(f, info.Size())
	if err != nil {
		return broken("it is not a zip archive", err)
	}
	if len(archive.File) > maxEvents {
		return broken("it has too many files", nil)
	}
	files := slices.DeleteFunc(archive.File, func(f *zip.File) bool {
		return !strings.HasPrefix(f.Name, "event_") || !strings.HasSuffix(f.Name, ".json")
	})
	slices.SortFunc(files, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	total := 0
	for _, file := range files {
		text, err := readEntry(file)
		if err != nil {
			return broken("a file in it is damaged or too large", err)
		}
		if total += len(text); total > maxContent {
			return broken("it is too large", nil)
		}
		if err := event(text); err != nil {
			return err
		}
	}
	return nil
}

func readEntry(file *zip.File) ([]byte, error) {
	in, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // It was only read.
	text, err := io.ReadAll(io.LimitReader(in, maxEvent+1))
	if err == nil && len(text) > maxEvent {
		err = fmt.Errorf("%s is larger than %d bytes", file.Name, maxEvent)
	}
	return text, err
}

// readList reads the events of V0's document, one at a time.
func readList(f *os.File, event func(json.RawMessage) error) error {
	broken := func(err error) error {
		return fault.New("the trajectory cannot be read: it is not V0's document", "download it as it is: --format json", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return broken(err)
	}
	in := json.NewDecoder(f)
	for {
		token, err := in.Token()
		if err != nil {
			return broken(err)
		}
		if token == json.Delim('[') {
			break
		}
	}
	for in.More() {
		var raw json.RawMessage
		if err := in.Decode(&raw); err != nil {
			return broken(err)
		}
		if err := event(raw); err != nil {
			return err
		}
	}
	return nil
}
