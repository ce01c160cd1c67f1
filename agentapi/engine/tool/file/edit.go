package file

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

// around is how many lines around an edit are shown.
const around = 4

// text is a file that is being edited.
type text struct {
	data     []byte
	content  string
	encoding encoding
	info     fs.FileInfo
}

func readText(p *place) (text, error) {
	data, info, err := p.read()
	if err != nil {
		return text{}, err
	}
	content, enc, err := decode(data)
	if errors.Is(err, errBinary) {
		return text{}, refusef("%s is a binary file, which this tool cannot edit.", p.path)
	}
	return text{data, content, enc, info}, nil
}

// encode writes the new content of the file in its encoding.
func (f text) encode(now string) ([]byte, error) {
	switch {
	case f.encoding == unknown:
		return untold(f.data, now)
	case f.encoding >= oneByte:
		return recognisable(f, now)
	}
	return encode(now, f.encoding)
}

func create(p *place, a arguments) (outcome, error) {
	if a.FileText == nil {
		return outcome{}, refusef("create needs file_text, the content of the file.")
	}
	if err := unmarked(*a.FileText, ""); err != nil {
		return outcome{}, err
	}
	if err := p.create([]byte(*a.FileText)); err != nil {
		return outcome{}, err
	}
	out := says(fmt.Sprintf("Created %s.", p.path))
	out.now, out.created = a.FileText, true
	return out, nil
}

func (e *Editor) replaceText(p *place, a arguments) (outcome, error) {
	switch {
	case a.OldStr == nil:
		return outcome{}, refusef("str_replace needs old_str, the text to replace.")
	case a.NewStr == nil:
		return outcome{}, refusef("str_replace needs new_str; to delete, give an empty one.")
	case *a.OldStr == *a.NewStr:
		return outcome{}, refusef("Nothing was changed: old_str and new_str are the same.")
	case *a.OldStr == "":
		return outcome{}, refusef("old_str is empty. To add a text use insert.")
	}
	f, err := readText(p)
	if err != nil {
		return outcome{}, err
	}
	if err := unmarked(*a.OldStr+*a.NewStr, f.content); err != nil {
		return outcome{}, err
	}
	begin, end, err := f.find(*a.OldStr)
	if errors.Is(err, errNotThere) {
		if begin, end, err = f.find(strings.TrimSpace(*a.OldStr)); errors.Is(err, errNotThere) {
			return outcome{}, refusef("Nothing was changed: old_str is not in %s. View the file; every blank and line break has to be the same.", p.path)
		}
	}
	if err != nil {
		return outcome{}, err
	}
	now := f.content[:begin] + ends(*a.NewStr, crlf(f.content)) + f.content[end:]
	line := strings.Count(f.content[:begin], "\n") + 1
	return e.save(p, f, now, line, line+strings.Count(*a.NewStr, "\n"))
}

// unmarked refuses a text with the mark that the model is shown in place of a
// secret: the file has the value there. One that has the mark itself is an
// ordinary file.
func unmarked(text, content string) error {
	if !strings.Contains(text, secretenv.Mark) || strings.Contains(content, secretenv.Mark) {
		return nil
	}
	return refusef("Nothing was changed: %[1]s is shown in place of a secret and is not in the file. "+
		"Take a text that ends before it or begins after it. To write a secret into a file use the terminal, with $NAME of the secret in the command.", secretenv.Mark)
}

var errNotThere = errors.New("not in the file")

// find returns where the only occurrence of a text is. A line break in it stands
// for one of either kind in the file.
func (f text) find(old string) (begin, end int, err error) {
	if old == "" {
		return 0, 0, errNotThere
	}
	content, back := f.content, func(i int) int { return i }
	if strings.Contains(content, "\r\n") {
		old = strings.ReplaceAll(old, "\r\n", "\n")
		content, back = withoutReturns(content)
	}
	var at []int
	for from := 0; ; {
		i := strings.Index(content[from:], old)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + len(old)
	}
	switch len(at) {
	case 0:
		return 0, 0, errNotThere
	case 1:
		return back(at[0]), back(at[0] + len(old)), nil
	}
	var lines []int
	for _, i := range at {
		lines = append(lines, strings.Count(content[:i], "\n")+1)
	}
	lines = slices.Compact(lines)
	return 0, 0, refusef("Nothing was changed: old_str is there %d times, in line %s. Take more lines around it to say which one you mean.",
		len(at), join(lines))
}

func join(lines []int) string {
	const most = 20
	words := make([]string, 0, most)
	for _, n := range lines[:min(len(lines), most)] {
		words = append(words, strconv.Itoa(n))
	}
	if len(lines) > most {
		words = append(words, "...")
	}
	return strings.Join(words, ", ")
}

// withoutReturns returns a text with plain line breaks, and a function from
// places in it to those in the original.
func withoutReturns(s string) (plain string, back func(int) int) {
	var removed []int // where in plain a return is missing before the line break
	var b strings.Builder
	for rest := s; ; {
		i := strings.Index(rest, "\r\n")
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		removed = append(removed, b.Len())
		rest = rest[i+1:]
	}
	return b.String(), func(i int) int {
		n, _ := slices.BinarySearch(removed, i)
		return i + n
	}
}

func (e *Editor) insertText(p *place, a arguments) (outcome, error) {
	switch {
	case a.InsertLine == nil:
		return outcome{}, refusef("insert needs insert_line, the number of the line after which the text goes.")
	case a.NewStr == nil:
		return outcome{}, refusef("insert needs new_str, the text to insert.")
	}
	f, err := readText(p)
	if err != nil {
		return outcome{}, err
	}
	if err := unmarked(*a.NewStr, f.content); err != nil {
		return outcome{}, err
	}
	lines := strings.SplitAfter(f.content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	n := *a.InsertLine
	if n < 0 || n > len(lines) {
		return outcome{}, refusef("insert_line must be between 0 and %d, the number of lines of the file.", len(lines))
	}
	windows := crlf(f.content)
	end := ends("\n", windows)
	inserted := strings.TrimSuffix(ends(*a.NewStr, windows), end) + end
	before, after := strings.Join(lines[:n], ""), strings.Join(lines[n:], "")
	if before != "" && !strings.HasSuffix(before, "\n") {
		// The last line has no end, and the new last one shall have none either.
		before, inserted = before+end, strings.TrimSuffix(inserted, end)
	}
	return e.save(p, f, before+inserted+after, n+1, n+strings.Count(inserted, "\n"))
}

// save writes the new content and shows the lines that changed.
func (e *Editor) save(p *place, f text, now string, first, last int) (outcome, error) {
	data, err := f.encode(now)
	if err != nil {
		return outcome{}, refusef("Nothing was changed: %v. Use another character, or convert the file in the terminal.", err)
	}
	if len(data) > maxSize {
		return outcome{}, tooLarge(p.path, int64(len(data)))
	}
	if err := p.replace(data, f); err != nil {
		return outcome{}, err
	}
	e.remember(p.real, f.data, data)
	out := says(fmt.Sprintf("Edited %s%s. It now reads there:\n%s", p.path, f.encoding.named(), snippet(now, first, last)))
	out.old, out.now = &f.content, &now
	return out, nil
}

// snippet shows some lines of a text and a few around them.
func snippet(content string, first, last int) string {
	lines := splitLines(content)
	from, to := max(1, first-around), min(len(lines), max(first, last)+around)
	if from > to {
		return "[the file is empty]\n"
	}
	return numbered(lines[from-1:to], from, tool.LimitFile-1000)
}
