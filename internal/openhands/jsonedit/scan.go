package jsonedit

import (
	"bytes"
	"unicode/utf8"
)

// scanner reads a text once from left to right.
type scanner struct {
	src       []byte
	pos       int
	members   []member // of the outermost object
	irregular Irregular
}

// text scans the whole text: one value with blanks around it.
func (s *scanner) text() (span, error) {
	switch {
	case bytes.HasPrefix(s.src, []byte("\xef\xbb\xbf")):
		return span{}, s.fail("byte order mark")
	case !utf8.Valid(s.src):
		s.pos = firstInvalid(s.src)
		return span{}, s.fail("not UTF-8")
	}
	s.skipBlanks()
	root, err := s.value(0)
	if err != nil {
		return span{}, err
	}
	s.skipBlanks()
	if s.pos != len(s.src) {
		return span{}, s.fail("more text after the end")
	}
	return root, nil
}

func firstInvalid(src []byte) int {
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(src)
}

// fail makes the error for the present position.
func (s *scanner) fail(msg string) error {
	if s.pos >= len(s.src) {
		msg = "unexpected end"
	}
	before := s.src[:min(s.pos, len(s.src))]
	return &SyntaxError{
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: len(before) - bytes.LastIndexByte(before, '\n'),
		Msg:    msg,
	}
}

func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

func (s *scanner) skipBlanks() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// value reads any value and checks it.
func (s *scanner) value(depth int) (span, error) {
	start := s.pos
	err := s.anyValue(depth)
	return span{start, s.pos}, err
}

func (s *scanner) anyValue(depth int) error {
	switch c := s.peek(); {
	case c == '{' || c == '[':
		if depth == maxDepth {
			return s.fail("nested too deeply")
		}
		if c == '{' {
			return s.object(depth + 1)
		}
		return s.array(depth + 1)
	case c == '"':
		return s.string()
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	}
	for _, word := range []string{"null", "true", "false"} {
		if s.word(word) {
			return nil
		}
	}
	if s.word("NaN") || s.word("Infinity") {
		s.irregular.NaN = true
		return nil
	}
	return s.fail("unexpected character")
}

// word consumes w if it comes next.
func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.src[s.pos:], []byte(w)) {
		return false
	}
	s.pos += len(w)
	return true
}

func (s *scanner) object(depth int) error {
	s.pos++
	s.skipBlanks()
	if s.word("}") {
		return nil
	}
	seen := names{src: s.src}
	for {
		key := span{start: s.pos}
		if s.peek() != '"' {
			return s.fail("expected a member name")
		}
		if err := s.string(); err != nil {
			return err
		}
		key.end = s.pos
		if !s.irregular.Duplicate && seen.add(key) {
			s.irregular.Duplicate = true
		}
		s.skipBlanks()
		if !s.word(":") {
			return s.fail("expected a colon")
		}
		s.skipBlanks()
		value, err := s.value(depth)
		if err != nil {
			return err
		}
		if depth == 1 {
			s.members = append(s.members, member{key, value})
		}
		s.skipBlanks()
		if s.word("}") {
			return nil
		}
		if !s.word(",") {
			return s.fail("expected a comma or the end of the object")
		}
		s.skipBlanks()
	}
}

func (s *scanner) array(depth int) error {
	s.pos++
	s.skipBlanks()
	if s.word("]") {
		return nil
	}
	for {
		if _, err := s.value(depth); err != nil {
			return err
		}
		s.skipBlanks()
		if s.word("]") {
			return nil
		}
		if !s.word(",") {
			return s.fail("expected a comma or the end of the array")
		}
		s.skipBlanks()
	}
}

func (s *scanner) string() error {
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.fail("control character in a string")
		}
	}
	return s.fail("unexpected end")
}

// escape leaves the position on the last character of the escape.
func (s *scanner) escape() error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			s.pos++
			if !isHex(s.peek()) {
				return s.fail("bad escape")
			}
		}
		return nil
	}
	return s.fail("bad escape")
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (s *scanner) number() error {
	if s.word("-Infinity") {
		s.irregular.NaN = true
		return nil
	}
	start := s.pos
	s.word("-")
	digits := s.pos
	if !s.word("0") && !s.digits() {
		return s.fail("bad number")
	}
	integer := s.pos - digits
	if c := s.peek(); c == '.' {
		s.pos++
		if !s.digits() {
			return s.fail("bad number")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.fail("bad number")
		}
	}
	if integer > maxIntDigits && isInteger(s.src[start:s.pos]) {
		return s.fail("number is too long")
	}
	return nil
}

// digits consumes digits and reports whether there were any.
func (s *scanner) digits() bool {
	start := s.pos
	for '0' <= s.peek() && s.peek() <= '9' {
		s.pos++
	}
	return s.pos > start
}

func isInteger(number []byte) bool { return !bytes.ContainsAny(number, ".eENI") }

// skipValue passes over a value that is known to be well-formed.
func (s *scanner) skipValue() span {
	start := s.pos
	depth := 0
	for {
		switch s.src[s.pos] {
		case '{', '[':
			depth++
			s.pos++
		case '}', ']':
			depth--
			s.pos++
		case '"':
			s.skipString()
		case ',', ':', ' ', '\t', '\n', '\r':
			s.pos++
			continue
		default:
			s.skipLiteral()
		}
		if depth == 0 {
			return span{start, s.pos}
		}
	}
}

func (s *scanner) skipString() {
	for s.pos++; s.src[s.pos] != '"'; s.pos++ {
		if s.src[s.pos] == '\\' {
			s.pos++
		}
	}
	s.pos++
}

func (s *scanner) skipLiteral() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ',', ':', ']', '}', ' ', '\t', '\n', '\r':
			return
		}
		s.pos++
	}
}

// nextItem moves from the end of an item to the start of the next one, or to
// the closing bracket.
func (s *scanner) nextItem() {
	s.skipBlanks()
	if s.word(",") {
		s.skipBlanks()
	}
}
