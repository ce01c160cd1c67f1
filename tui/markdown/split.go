package markdown

import (
	"strings"
	"unicode/utf8"
)

// maxBlock bounds a block, in bytes: what is rendered again while it grows.
const maxBlock = 8 << 10

// Block is a part of a text that is rendered by itself.
type Block struct {
	Src string // all of it, with the empty lines that follow
	// Fence is the line that opened the code which this block continues; empty in all
	// others.
	Fence string
	// Joined is set where a block continues the one before because that one was full, and
	// not because something new begins.
	Joined bool
}

// Splitter cuts a text that grows into blocks. Where it cuts depends on the
// text alone, never on the pieces it came in: rendering all blocks gives the
// same at every moment as rendering the text so far at once.
type Splitter struct {
	open  strings.Builder // source of the block that grows
	next  Block           // its Fence and Joined
	pos   int             // bytes of open that are whole lines, and known to belong there
	state lines
}

// lines is what the lines of the open block say about the next one.
type lines struct {
	list  bool   // the block is a list: indented lines and items continue it
	blank bool   // the last line was empty
	ended bool   // the block is complete, whatever comes
	fence string // the characters that close the code we are in
	info  string // the line that opened it
}

// Add takes the next piece and returns the blocks that are complete now.
func (s *Splitter) Add(piece string) []Block {
	var done []Block
	for piece != "" {
		// In small portions: what is open is moved whenever a block is cut off.
		n := min(len(piece), maxBlock)
		s.open.WriteString(piece[:n])
		piece = piece[n:]
		done = s.cutAll(done)
	}
	return done
}

func (s *Splitter) cutAll(done []Block) []Block {
	for {
		at, joined := s.cut()
		if at < 0 {
			return done
		}
		src := s.open.String()
		b := s.next
		b.Src = strings.Clone(src[:at])
		done = append(done, b)
		s.next = Block{Joined: joined}
		if joined && s.state.fence != "" {
			s.next.Fence = s.state.info
			s.state = lines{fence: s.state.fence, info: s.state.info}
		} else {
			s.state = lines{}
		}
		s.open.Reset()
		s.open.WriteString(src[at:])
		s.pos = 0
	}
}

// Open is the block that grows; its Src is empty when there is none.
func (s *Splitter) Open() Block {
	b := s.next
	b.Src = s.open.String()
	return b
}

// cut returns where the open block ends and whether the next one is joined to it; -1 if
// that is not known yet.
func (s *Splitter) cut() (int, bool) {
	src := s.open.String()
	for {
		n := strings.IndexByte(src[s.pos:], '\n')
		end := s.pos + n + 1
		if n < 0 || end > maxBlock {
			if s.pos > 0 && s.state.over(src[s.pos:]) {
				return s.pos, false
			}
			break
		}
		line := src[s.pos:end]
		if s.pos > 0 && s.state.begins(line) {
			return s.pos, false
		}
		s.state.take(line, s.pos == 0)
		s.pos = end
	}
	if len(src) <= maxBlock {
		return -1, false
	}
	if s.pos > maxBlock/2 {
		return s.pos, true
	}
	return full(src), true
}

// full is where a block is cut that has more than maxBlock bytes in few lines.
func full(src string) int {
	if i := strings.LastIndexByte(src[maxBlock-256:maxBlock], ' '); i >= 0 {
		return maxBlock - 256 + i + 1
	}
	at := maxBlock
	for !utf8.RuneStart(src[at]) && at > maxBlock-utf8.UTFMax {
		at--
	}
	return at
}

// over reports whether the beginning of a line is enough to know that it
// belongs to a new block.
func (l *lines) over(begin string) bool {
	return l.fence == "" && (l.ended || l.blank && !l.list) && strings.TrimLeft(begin, " \t") != ""
}

// begins reports whether a line is the first of a new block.
func (l *lines) begins(line string) bool {
	if l.fence != "" {
		return false
	}
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if strings.TrimSpace(text) == "" {
		return false
	}
	if l.ended {
		return true
	}
	if l.list {
		return l.blank && indent < 2 && text[0] != '\t' && item(text) == 0
	}
	return l.blank || indent < 4 && (fenceOf(text) != "" || heading(text))
}

// take notes what a line of the block says about those after it.
func (l *lines) take(line string, first bool) {
	text := strings.TrimLeft(line, " \t")
	body := strings.TrimSpace(text)
	switch {
	case l.fence != "":
		if strings.HasPrefix(body, l.fence) && strings.Trim(body, l.fence[:1]) == "" {
			l.fence, l.info = "", ""
			l.ended = !l.list
		}
		return
	case body == "":
		l.blank = true
		return
	}
	l.blank = false
	if first {
		l.list = item(text) > 0 && len(line)-len(text) < 4
		l.ended = heading(text)
	}
	if l.list {
		text = text[item(text):]
	}
	if f := fenceOf(text); f != "" {
		l.fence, l.info = f, strings.TrimRight(text, "\n")
	}
}

// fenceOf is the run of characters that opens code, or "".
func fenceOf(text string) string {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return ""
	}
	n := len(text) - len(strings.TrimLeft(text, text[:1]))
	if n < 3 || text[0] == '`' && strings.Contains(text[n:], "`") {
		return ""
	}
	return text[:n]
}

func heading(text string) bool {
	rest := strings.TrimLeft(text, "#")
	n := len(text) - len(rest)
	return n > 0 && n < 7 && (rest[0] == ' ' || rest[0] == '\n')
}

// item measures the mark that begins an item of a list, 0 without one.
func item(text string) int {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits > 9 || digits == len(text) {
		return 0
	}
	mark := text[digits]
	if digits > 0 && mark != '.' && mark != ')' || digits == 0 && !strings.ContainsRune("-*+", rune(mark)) {
		return 0
	}
	rest := text[digits+1:]
	if trimmed := strings.TrimLeft(rest, " \t"); len(trimmed) < len(rest) {
		return len(text) - len(trimmed)
	}
	if strings.TrimSpace(rest) == "" {
		return digits + 1
	}
	return 0
}
