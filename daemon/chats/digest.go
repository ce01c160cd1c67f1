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
	hash    hash.Hash // of what no longer is in pending; nil if everything is
	pending []byte
	shown   []byte // the beginning, in normal form, once it is no longer in pending
	gap     bool   // white space came last
	any     bool   // something else was there
}

// block is how much is hashed at a time.
const block = 8 << 10

// Add appends a piece. Runs of white space count as one space; at both ends
// they do not count.
func (t *Text) Add(piece string) {
	for i := 0; i < len(piece); {
		if isSpace(piece[i]) {
			t.gap = true
			i++
			continue
		}
		end := i + 1
		for end < len(piece) && !isSpace(piece[end]) {
			end++
		}
		if t.gap && t.any {
			t.pending = append(t.pending, ' ')
		}
		t.pending = append(t.pending, piece[i:end]...)
		t.gap, t.any = false, true
		i = end
		if len(t.pending) >= block {
			t.flush()
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (t *Text) flush() {
	if t.hash == nil {
		t.hash = sha256.New()
	}
	t.hash.Write(t.pending)
	if room := maxShown - len(t.shown); room > 0 {
		t.shown = append(t.shown, t.pending[:min(room, len(t.pending))]...)
	}
	t.pending = t.pending[:0]
}

// reset makes t empty and keeps its memory.
func (t *Text) reset() { *t = Text{pending: t.pending[:0]} }

// Digest is the digest of everything so far.
func (t *Text) Digest() Digest {
	if !t.any {
		return ""
	}
	if t.hash == nil {
		sum := sha256.Sum256(t.pending)
		return Digest(base64.RawURLEncoding.EncodeToString(sum[:digestSize]))
	}
	t.flush()
	return Digest(base64.RawURLEncoding.EncodeToString(t.hash.Sum(nil)[:digestSize]))
}

// Beginning is the beginning of the text, in normal form.
func (t *Text) Beginning() string {
	if t.hash == nil {
		return string(t.pending[:min(maxShown, len(t.pending))])
	}
	t.flush()
	return string(t.shown)
}

// length is how long the text is, at least, in bytes.
func (t *Text) length() int { return len(t.shown) + len(t.pending) }

// Transcript stands for all that was said in a history: the same for each client
// that sends the same texts, whatever it makes of white space, and whether it sends
// what one side said in a row as one message or as several. Empty: nothing was said.
func Transcript(history []openai.Turn) Digest {
	var d Digest
	var text Text
	role := ""
	for _, t := range history {
		if t.Role != role {
			d = d.then(role, text.Digest())
			text.reset()
			role = t.Role
		}
		if role == "assistant" {
			text.Add(withoutThinking(t.Text) + "\n")
		} else {
			text.Add(withoutImages(t.Text) + "\n")
		}
	}
	return d.then(role, text.Digest())
}

// Answered is the transcript d with an answer after it.
func (d Digest) Answered(text string) Digest { return d.then("assistant", Of(text)) }

func (d Digest) then(role string, text Digest) Digest {
	if text == "" {
		return d
	}
	sum := sha256.Sum256([]byte(string(d) + "\x00" + role + "\x00" + string(text)))
	return Digest(base64.RawURLEncoding.EncodeToString(sum[:digestSize]))
}

// Round is a message of the user in a transcript, with what was answered.
type Round struct {
	User   Digest // empty where an answer comes first
	Answer Digest // empty where there is none
	Long   bool   // the answer is so long that no other one is the same by chance
	// At and End are the place in the history: its elements from At to before
	// End.
	At, End int
}

// longAnswer is how long such an answer is, in bytes.
const longAnswer = 40

// Rounds splits a history into its rounds.
func Rounds(history []openai.Turn) []Round {
	list := make([]Round, 0, len(history)/2+1)
	var text Text
	answering := false
	for i, t := range history {
		if t.Role != "assistant" {
			text.reset()
			text.Add(withoutImages(t.Text))
			list = append(list, Round{User: text.Digest(), At: i, End: i + 1})
			answering = false
			continue
		}
		if len(list) == 0 {
			list = append(list, Round{At: i})
		}
		if !answering {
			text.reset()
		}
		answering = true
		last := &list[len(list)-1]
		text.Add("\n")
		text.Add(withoutThinking(t.Text))
		last.Answer, last.Long, last.End = text.Digest(), text.length() >= longAnswer, i+1
	}
	return list
}

// answerText is the text of the answer of a round, in normal form.
func answerText(history []openai.Turn, e Round) string {
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
