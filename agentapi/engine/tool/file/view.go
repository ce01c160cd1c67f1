package file

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // for the size of a picture
	_ "image/jpeg" // for the size of a picture
	_ "image/png"  // for the size of a picture
	"io/fs"
	"iter"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/picture"
	"github.com/ohgw/ohgw/internal/truncate"
)

const imageNames = ".png, .jpg, .jpeg, .gif and .webp"

func isImageName(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp":
		return true
	}
	return false
}

func (e *Editor) viewFile(p *place, lines []int) (outcome, error) {
	data, _, err := p.read()
	if err != nil {
		return outcome{}, err
	}
	if isImageName(p.path) {
		// By its content: providers refuse a picture with a wrong type.
		if kind := http.DetectContentType(data); strings.HasPrefix(kind, "image/") {
			return e.viewImage(p, data, kind)
		}
	}
	text, enc, err := decode(data)
	if errors.Is(err, errBinary) {
		return outcome{}, refusef("%s is a binary file, which this tool cannot show. Its size is %d bytes.", p.path, len(data))
	}
	all := splitLines(text)
	first, last, note, err := viewRange(lines, len(all))
	if err != nil {
		return outcome{}, err
	}
	header := fmt.Sprintf("%s, line %d to %d of %d%s:\n", p.path, first, last, len(all), enc.named())
	switch {
	case len(all) == 0:
		return says(p.path + " is empty."), nil
	case first == 1 && last == len(all):
		header = p.path + enc.named() + ":\n"
	}
	return says(note + header + numbered(all[first-1:last], first, tool.LimitFile-utf8.RuneCountInString(note+header))), nil
}

func (e *Editor) viewImage(p *place, data []byte, kind string) (outcome, error) {
	size := ""
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		size = fmt.Sprintf(", %d x %d pixels", c.Width, c.Height)
	}
	if !e.cfg.Vision() {
		return says(fmt.Sprintf("%s is a picture (%s%s, %d bytes). You cannot be shown pictures.", p.path, kind, size, len(data))), nil
	}
	url, err := picture.Encode(data)
	if err != nil {
		return outcome{}, refusef("%s cannot be shown: the picture %v.", p.path, err)
	}
	return outcome{content: []event.Content{
		event.Text(fmt.Sprintf("%s (%s%s):", p.path, kind, size)), event.Images(url),
	}}, nil
}

// viewRange checks the lines that are asked for.
func viewRange(lines []int, count int) (first, last int, note string, err error) {
	if lines == nil {
		return 1, count, "", nil
	}
	if len(lines) != 2 {
		return 0, 0, "", refusef("view_range must have two numbers: the first and the last line.")
	}
	first, last = lines[0], lines[1]
	if first < 1 || first > max(count, 1) {
		return 0, 0, "", refusef("view_range must begin between 1 and %d, the number of lines of the file.", count)
	}
	switch {
	case last == -1:
		last = count
	case last > count:
		note = fmt.Sprintf("The file has only %d lines.\n", count)
		last = count
	case last < first:
		return 0, 0, "", refusef("view_range must not end before it begins; -1 is the end of the file.")
	}
	return first, last, note, nil
}

// numbered shows lines with their numbers, in at most limit characters: as
// many from the beginning and from the end as fit, and between them how many
// are left out.
func numbered(lines []string, first, limit int) string {
	if cost(lines, limit) <= limit {
		var b strings.Builder
		writeLines(&b, lines, first)
		return b.String()
	}
	// What the notice and the marks of cut lines take.
	room := limit - 200
	head := fitting(slices.Values(lines), room-room/2)
	tail := fitting(backwards(lines[max(head, 1):]), room/2)
	var b strings.Builder
	writeLines(&b, lines[:head], first)
	if head == 0 {
		line := truncate.Head(lines[0], room-room/2-8)
		fmt.Fprintf(&b, "%6d\t%s [... %d more characters in this line ...]\n", first, line, utf8.RuneCountInString(lines[0])-utf8.RuneCountInString(line))
		head = 1
	}
	if from, to := first+head, first+len(lines)-tail-1; from <= to {
		fmt.Fprintf(&b, "[... lines %d to %d are left out; view_range shows them ...]\n", from, to)
	}
	writeLines(&b, lines[len(lines)-tail:], first+len(lines)-tail)
	return b.String()
}

func backwards(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range slices.Backward(lines) {
			if !yield(line) {
				return
			}
		}
	}
}

// fitting is how many lines fit into that many characters.
func fitting(lines iter.Seq[string], room int) int {
	n := 0
	for line := range lines {
		if room -= width(line); room < 0 {
			break
		}
		n++
	}
	return n
}

// width is what a line takes with its number.
func width(line string) int { return 8 + utf8.RuneCountInString(line) }

// cost is what all lines take, or some number above enough.
func cost(lines []string, enough int) int {
	total := 0
	for _, line := range lines {
		if total += width(line); total > enough {
			break
		}
	}
	return total
}

func writeLines(b *strings.Builder, lines []string, first int) {
	for i, line := range lines {
		fmt.Fprintf(b, "%6d\t%s\n", first+i, line)
	}
}

// viewDir lists a directory two levels deep.
func viewDir(p *place, lines []int) (outcome, error) {
	if lines != nil {
		return outcome{}, refusef("view_range is for files, and %s is a directory.", p.path)
	}
	entries, hidden, err := listDir(p, p.real)
	if err != nil {
		return outcome{}, readable(p.path, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, two levels deep:\n", p.path)
	for _, entry := range entries {
		b.WriteString(entryLine(p.path, entry))
		if !entry.IsDir() {
			continue
		}
		below, _, err := listDir(p, filepath.Join(p.real, entry.Name()))
		if err != nil {
			fmt.Fprintf(&b, "  [%s/ cannot be read]\n", entry.Name())
			continue
		}
		for _, e := range below {
			b.WriteString(entryLine(filepath.Join(p.path, entry.Name()), e))
		}
	}
	if len(entries) == 0 {
		b.WriteString("[nothing but hidden entries, or nothing]\n")
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "[and %d hidden entries: ls -A %s]\n", hidden, p.path)
	}
	text, err := tool.Truncate(b.String(), tool.LimitFile, "", "")
	return says(text), err
}

func entryLine(dir string, entry fs.DirEntry) string {
	line := filepath.Join(dir, entry.Name())
	if entry.IsDir() {
		line += "/"
	}
	return line + "\n"
}

// listDir returns the entries that are not hidden, by name, and how many are.
func listDir(p *place, real string) (entries []fs.DirEntry, hidden int, err error) {
	all, err := p.files.List(real)
	if err != nil {
		return nil, 0, err
	}
	for _, entry := range all {
		if strings.HasPrefix(entry.Name(), ".") {
			hidden++
			continue
		}
		entries = append(entries, entry)
	}
	return entries, hidden, nil
}
