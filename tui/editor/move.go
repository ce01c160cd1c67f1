package editor

import "strings"

// Left and Right move by a character.
func (e *Editor) Left() { e.move(e.at - 1) }

// Right moves by a character.
func (e *Editor) Right() { e.move(e.at + 1) }

// WordLeft goes to the beginning of a word.
func (e *Editor) WordLeft() { e.move(e.wordLeft()) }

// WordRight moves the cursor behind the next word.
func (e *Editor) WordRight() {
	i := e.at
	for i < len(e.glyphs) && e.glyphs[i].space() {
		i++
	}
	for i < len(e.glyphs) && !e.glyphs[i].space() {
		i++
	}
	e.move(i)
}

// Home goes to the beginning of the line.
func (e *Editor) Home() { e.move(e.lineBegin()) }

// End goes to the end of the line.
func (e *Editor) End() { e.move(e.lineEnd()) }

// Up goes to the line above and reports whether there is one.
func (e *Editor) Up() bool { return e.vertical(-1) }

// Down goes to the line below and reports whether there is one.
func (e *Editor) Down() bool { return e.vertical(1) }

// Backspace removes the character before the cursor.
func (e *Editor) Backspace() { e.delete(e.at-1, e.at) }

// Delete removes the character behind the cursor.
func (e *Editor) Delete() { e.delete(e.at, e.at+1) }

// DeleteWord removes the word before the cursor.
func (e *Editor) DeleteWord() { e.delete(e.wordLeft(), e.at) }

// DeleteToBegin removes what is before the cursor in its line.
func (e *Editor) DeleteToBegin() { e.delete(e.lineBegin(), e.at) }

// DeleteToEnd removes what is behind the cursor in its line.
func (e *Editor) DeleteToEnd() {
	at := e.at
	e.delete(at, e.lineEnd())
	e.at = at
}

func (e *Editor) move(to int) { e.at, e.want = min(max(to, 0), len(e.glyphs)), 0 }

func (e *Editor) wordLeft() int {
	i := e.at
	for i > 0 && e.glyphs[i-1].space() {
		i--
	}
	for i > 0 && !e.glyphs[i-1].space() {
		i--
	}
	return i
}

// Word is what is before the cursor, back to a space.
func (e *Editor) Word() string {
	var b strings.Builder
	for _, g := range e.glyphs[e.wordBegin():e.at] {
		b.WriteString(g.text)
	}
	return b.String()
}

// ReplaceWord writes a text in the place of Word.
func (e *Editor) ReplaceWord(s string) {
	e.delete(e.wordBegin(), e.at)
	e.Type(s)
}

func (e *Editor) wordBegin() int {
	i := e.at
	for i > 0 && !e.glyphs[i-1].space() && !e.glyphs[i-1].pasted {
		i--
	}
	return i
}

func (e *Editor) lineBegin() int {
	i := e.at
	for i > 0 && (e.glyphs[i-1].text != "\n" || e.glyphs[i-1].pasted) {
		i--
	}
	return i
}

func (e *Editor) lineEnd() int {
	i := e.at
	for i < len(e.glyphs) && (e.glyphs[i].text != "\n" || e.glyphs[i].pasted) {
		i++
	}
	return i
}

func (e *Editor) vertical(by int) bool {
	y, x := e.cursor()
	if e.want == 0 {
		e.want = x + 1
	}
	y += by
	if y < 0 || y >= len(e.rows) {
		return false
	}
	r := e.rows[y]
	i, used := r.begin, 0
	for i < r.end && used+e.glyphs[i].width() <= e.want-1 {
		used += e.glyphs[i].width()
		i++
	}
	if i == r.end && i > r.begin && y < len(e.rows)-1 && e.rows[y+1].begin == i {
		i-- // The place behind a wrapped line is the beginning of the next one.
	}
	e.at = i
	return true
}
