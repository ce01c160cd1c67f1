package editor

import "strings"

// Vim gives an Editor the keys of vi: those of its normal mode. The zero value is
// in the mode in which text is typed.
type Vim struct {
	normal bool
	op     string // "d" or "c", that waits for a motion
	count  int    // 0: none was typed
	undo   []Draft
	yanked string
	lines  bool // yanked is a whole line
}

// maxUndo is how many changes can be taken back.
const maxUndo = 100

// Normal reports whether keys are commands.
func (v *Vim) Normal() bool { return v.normal }

// Escape ends the typing of text, or the command that is not complete. It reports
// whether there was either.
func (v *Vim) Escape(e *Editor) bool {
	if v.normal {
		waits := v.op != "" || v.count > 0
		v.op, v.count = "", 0
		return waits
	}
	v.normal = true
	if e.at > e.lineBegin() {
		e.move(e.at - 1)
	}
	return true
}

// Insert goes back to typing text.
func (v *Vim) Insert() { v.normal, v.op, v.count = false, "", 0 }

// Key does a key of the normal mode. Other keys do nothing there.
func (v *Vim) Key(e *Editor, key string) {
	if digit := key >= "1" && key <= "9" || key == "0" && v.count > 0; digit && len(key) == 1 {
		v.count = min(v.count*10+int(key[0]-'0'), 999)
		return
	}
	n := max(v.count, 1)
	if v.op != "" {
		v.operate(e, key, n)
		return
	}
	if key == "d" || key == "c" || key == "y" {
		v.op = key
		return
	}
	v.count = 0
	if to, ok := e.motion(key, n); ok {
		e.move(min(to, e.lastOf(to)))
		return
	}
	switch key {
	case "j", "k":
		v.vertical(e, key, n)
	case "u":
		v.back(e)
	default:
		v.change(e, key, n)
	}
}

func (v *Vim) vertical(e *Editor, key string, n int) {
	for range n {
		if key == "j" {
			e.Down()
		} else {
			e.Up()
		}
	}
}

// motion returns where a motion leads.
func (e *Editor) motion(key string, n int) (to int, ok bool) {
	step, ok := map[string]func(int) int{
		"h": func(i int) int { return max(i-1, e.lineBegin()) },
		"l": func(i int) int { return min(i+1, e.lineEnd()) },
		" ": func(i int) int { return min(i+1, e.lineEnd()) },
		"w": e.nextWord, "b": e.wordBefore, "e": e.wordEnd,
		"0": func(int) int { return e.lineBegin() },
		"^": func(int) int { return e.firstOfLine() },
		"$": func(int) int { return e.lineEnd() },
	}[key]
	if !ok {
		return 0, false
	}
	to = e.at
	for range n {
		to = step(to)
	}
	return to, true
}

// lastOf finds the last place that the cursor may have in the line of i.
func (e *Editor) lastOf(i int) int {
	at := e.at
	e.at = min(i, len(e.glyphs))
	begin, end := e.lineBegin(), e.lineEnd()
	e.at = at
	return max(end-1, begin)
}

func (e *Editor) firstOfLine() int {
	i, end := e.lineBegin(), e.lineEnd()
	for i < end && e.glyphs[i].space() {
		i++
	}
	return i
}

func (e *Editor) nextWord(i int) int {
	for i < len(e.glyphs) && !e.glyphs[i].space() {
		i++
	}
	for i < len(e.glyphs) && e.glyphs[i].space() {
		i++
	}
	return i
}

func (e *Editor) wordBefore(i int) int {
	for i > 0 && e.glyphs[i-1].space() {
		i--
	}
	for i > 0 && !e.glyphs[i-1].space() {
		i--
	}
	return i
}

func (e *Editor) wordEnd(i int) int {
	i++
	for i < len(e.glyphs) && e.glyphs[i].space() {
		i++
	}
	for i+1 < len(e.glyphs) && !e.glyphs[i+1].space() {
		i++
	}
	return min(i, max(len(e.glyphs)-1, 0))
}

// operate does the operator that waits, over a motion or over lines.
func (v *Vim) operate(e *Editor, key string, n int) {
	op := v.op
	v.op, v.count = "", 0
	if key == op {
		v.wholeLines(e, op, n)
		return
	}
	if op == "c" && key == "w" {
		key = "e" // As vi has it: the space after the word stays.
	}
	to, ok := e.motion(key, n)
	if !ok {
		return
	}
	from := min(e.at, to)
	to = max(e.at, to)
	if key == "e" && to < len(e.glyphs) {
		to++
	}
	v.take(e, op, from, to, false)
}

// wholeLines does an operator over n lines.
func (v *Vim) wholeLines(e *Editor, op string, n int) {
	from, at := e.lineBegin(), e.at
	for range n - 1 {
		if end := e.lineEnd(); end < len(e.glyphs) {
			e.at = end + 1
		}
	}
	to := e.lineEnd()
	e.at = at
	if op == "d" {
		switch {
		case to < len(e.glyphs):
			to++
		case from > 0:
			from--
		}
	}
	v.take(e, op, from, to, true)
}

// take takes out what is from one place before another, or only keeps it.
func (v *Vim) take(e *Editor, op string, from, to int, lines bool) {
	var b strings.Builder
	for _, g := range e.glyphs[from:to] {
		b.WriteString(g.text)
	}
	v.yanked, v.lines = strings.Trim(b.String(), "\n"), lines
	if !lines {
		v.yanked = b.String()
	}
	if op == "y" {
		return
	}
	v.save(e)
	e.delete(from, to)
	if op == "c" {
		v.Insert()
		return
	}
	e.move(min(e.at, e.lastOf(e.at)))
}

// change does a command that is one key.
func (v *Vim) change(e *Editor, key string, n int) {
	switch key {
	case "i":
		v.save(e)
	case "a":
		v.save(e)
		e.move(min(e.at+1, e.lineEnd()))
	case "I":
		v.save(e)
		e.move(e.firstOfLine())
	case "A":
		v.save(e)
		e.End()
	case "o":
		v.save(e)
		e.End()
		e.Type("\n")
	case "O":
		v.save(e)
		e.Home()
		e.Type("\n")
		e.move(e.at - 1)
	case "x":
		v.take(e, "d", e.at, min(e.at+n, e.lineEnd()), false)
		return
	case "D", "C":
		v.take(e, strings.ToLower(key), e.at, e.lineEnd(), false)
		return
	case "p", "P":
		v.put(e, key == "p")
		return
	default:
		return
	}
	v.Insert()
}

// put writes what was taken out, behind the cursor or before it.
func (v *Vim) put(e *Editor, behind bool) {
	if v.yanked == "" {
		return
	}
	v.save(e)
	switch {
	case v.lines && behind:
		e.End()
		e.Type("\n" + v.yanked)
	case v.lines:
		e.Home()
		e.Type(v.yanked + "\n")
		e.move(e.at - 1)
	default:
		if behind {
			e.move(min(e.at+1, e.lineEnd()))
		}
		e.Type(v.yanked)
		e.move(e.at - 1)
	}
}

// save keeps the text for undo.
func (v *Vim) save(e *Editor) {
	v.undo = append(v.undo, e.Draft())
	if len(v.undo) > maxUndo {
		v.undo = v.undo[1:]
	}
}

// back takes the last change back.
func (v *Vim) back(e *Editor) {
	if n := len(v.undo); n > 0 {
		e.Restore(v.undo[n-1])
		v.undo = v.undo[:n-1]
		e.move(min(e.at, e.lastOf(e.at)))
	}
}
