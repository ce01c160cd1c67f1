package confirm

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/truncate"
)

// maxTexts is how many characters of an action are looked at, and again of what the model
// said.
const maxTexts = 30_000

// texts are the texts of an action, as many as fit.
type texts struct {
	list []string
	size int
}

func (t *texts) add(text string) {
	gap := min(len(t.list), 1)
	room := maxTexts - t.size - gap
	if room <= 0 {
		return
	}
	size := utf8.RuneCountInString(text)
	if size > room {
		text, size = truncate.Head(text, room), room
	}
	t.list, t.size = append(t.list, text), t.size+size+gap
}

// executed collects the texts by which an action does something: those of its arguments
// come first, so that no long name of a tool crowds them out.
func executed(a *event.Action) []string {
	var t texts
	if arguments := a.ToolCall.Arguments; arguments != "" {
		if leaves, ok := leavesOf(arguments); ok {
			for _, leaf := range leaves {
				t.add(leaf)
			}
		} else {
			t.add(arguments)
		}
	}
	for _, name := range [...]string{a.ToolName, a.ToolCall.Name} {
		if name != "" {
			t.add(name)
		}
	}
	return t.list
}

// said are the texts in which a model says why.
func said(a *event.Action) []string {
	var t texts
	for _, text := range [...]string{a.Summary, a.ReasoningContent} {
		if text != "" {
			t.add(text)
		}
	}
	for _, part := range a.Thought {
		if part.Text != "" {
			t.add(part.Text)
		}
	}
	return t.list
}

// leavesOf reads the texts of a JSON value, in their order, without the names of members.
func leavesOf(data string) (leaves []string, ok bool) {
	if !json.Valid([]byte(data)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(data))
	var inObject []bool // of the values around this one
	name := false       // the next token is the name of a member
	for {
		token, err := d.Token()
		if err != nil { // its end
			return leaves, true
		}
		top := len(inObject) - 1
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				inObject = append(inObject, token == '{')
				name = token == '{'
				continue
			}
			inObject = inObject[:top]
			top--
		case string:
			if name {
				name = false
				continue
			}
			leaves = append(leaves, token)
		}
		name = top >= 0 && inObject[top]
	}
}

func join(list []string) string { return strings.Join(list, " ") }

// normal returns a text as it looks: without invisible characters, with the usual letters
// in place of wide ones, and with single spaces.
func normal(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(invisible, r) {
			return -1
		}
		return r
	}, text)
	var b strings.Builder
	space := false
	for _, r := range norm.NFKC.String(text) {
		if unicode.IsSpace(r) {
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// invisible are characters without a shape, or with that of a gap.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0, Hi: 0x8, Stride: 1},
		{Lo: 0xb, Hi: 0xc, Stride: 1},
		{Lo: 0xe, Hi: 0x1f, Stride: 1},
		{Lo: 0x7f, Hi: 0x9f, Stride: 1},
		{Lo: 0xad, Hi: 0xad, Stride: 1},
		{Lo: 0x34f, Hi: 0x34f, Stride: 1},
		{Lo: 0x61c, Hi: 0x61c, Stride: 1},
		{Lo: 0x115f, Hi: 0x1160, Stride: 1},
		{Lo: 0x1680, Hi: 0x1680, Stride: 1},
		{Lo: 0x180b, Hi: 0x180f, Stride: 1},
		{Lo: 0x2009, Hi: 0x200f, Stride: 1},
		{Lo: 0x202a, Hi: 0x202e, Stride: 1},
		{Lo: 0x2060, Hi: 0x2064, Stride: 1},
		{Lo: 0x2066, Hi: 0x206f, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1},
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1},
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
		{Lo: 0xfff9, Hi: 0xfffc, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0xe0000, Hi: 0xe007f, Stride: 1},
		{Lo: 0xe0100, Hi: 0xe01ef, Stride: 1},
	},
	LatinOffset: 5,
}
