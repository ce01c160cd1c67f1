package chats

import (
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"strings"

	"github.com/ohgw/ohgw/daemon/openai"
)

// Digest stands for a text of a chat, whatever white space a UI makes of it.
// Empty: no text.
type Digest string

// digestSize is how many bytes of the SHA-256 are kept: texts of one chat are
// told apart, not texts of the world.
const digestSize = 16

// Of is the digest of a text.
func Of(text string) Digest {
	var t Text
	t.Add(text)
	return t.Digest()
}

// maxShown is how much of a text that is being shown is remembered, in bytes.
const maxShown = 64 << 10

// Text is a text that comes in pieces. The zero Text is empty.
type Text struct {
	hash  hash.Hash
	shown []byte // the beginning, in normal form
	gap   bool   // white space came last
	any   bool   // something else was there
}

// Add appends a piece. Runs of white space count as one space; at both ends
// they do not count.
func (t *Text) Add(piece string) {
	for piece != "" {
		if n := spaces(piece); n > 0 {
			t.gap = true
			piece = piece[n:]
			continue
		}
		end := strings.IndexAny(piece, " \t\r\n")
		if end < 0 {
			end = len(piece)
		}
		if t.gap && t.any {
			t.write(" ")
		}
		t.write(piece[:end])
		t.gap, t.any = false, true
		piece = piece[end:]
	}
}

func spaces(s string) int {
	n := 0
	for n < len(s) && (s[n] == ' ' || s[n] == '\n' || s[n] == '\t' || s[n] == '\r') {
		n++
	}
	return n
}

func (t *Text) write(s string) {
	if t.hash == nil {
		t.hash = sha256.New()
	}
	t.hash.Write([]byte(s))
	if room := maxShown - len(t.shown); room > 0 {
		t.shown = append(t.shown, s[:min(room, len(s))]...)
	}
}

// Digest is the digest of everything so far.
func (t *Text) Digest() Digest {
	if !t.any {
		return ""
	}
	sum := t.hash.Sum(nil)
	return Digest(base64.RawURLEncoding.EncodeToString(sum[:digestSize]))
}

// Beginning is the beginning of the text, in normal form.
func (t *Text) Beginning() string { return string(t.shown) }

// Exchange is a message of the user in a transcript, with what was answered.
type Exchange struct {
	User   Digest // empty where an answer comes first
	Answer Digest // empty where there is none
	Long   bool   // the answer is so long that no other one is the same by chance
	// At and End are the place in the history: its elements from At to before
	// End.
	At, End int
}

// longAnswer is how long such an answer is, in bytes.
const longAnswer = 40

// Exchanges are the exchanges of a history.
func Exchanges(history []openai.Turn) []Exchange {
	list := make([]Exchange, 0, len(history)/2+1)
	var answer Text
	for i, t := range history {
		if t.Role != "assistant" {
			list = append(list, Exchange{User: Of(withoutImages(t.Text)), At: i, End: i + 1})
			answer = Text{}
			continue
		}
		if len(list) == 0 {
			list = append(list, Exchange{At: i})
		}
		last := &list[len(list)-1]
		if answer.any {
			answer.Add("\n")
		}
		answer.Add(withoutThinking(t.Text))
		last.Answer, last.Long, last.End = answer.Digest(), len(answer.shown) >= longAnswer, i+1
	}
	return list
}

// answerText is the text of the answer of an exchange, in normal form.
func answerText(history []openai.Turn, e Exchange) string {
	var t Text
	for _, turn := range history[e.At:e.End] {
		if turn.Role == "assistant" {
			t.Add(withoutThinking(turn.Text) + "\n")
		}
	}
	return t.Beginning()
}

// imageMark stands for an image in the text of an earlier message; the message
// that is asked has its images beside the text.
const imageMark = "[image]"

func withoutImages(text string) string {
	if !strings.Contains(text, imageMark) {
		return text
	}
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if line != imageMark {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// withoutThinking is an answer without the reasoning that some UIs put before
// it when they send it back.
func withoutThinking(text string) string {
	trimmed := strings.TrimSpace(text)
	for _, tag := range [...]struct{ open, end string }{{"<think>", "</think>"}, {`<details type="reasoning"`, "</details>"}} {
		if strings.HasPrefix(trimmed, tag.open) {
			if _, rest, ok := strings.Cut(trimmed, tag.end); ok {
				return rest
			}
		}
	}
	return text
}
