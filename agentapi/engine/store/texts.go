package store

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// texts are what the messages of some logs say, for those who look for a word in them:
// each event is read once for it. An event never changes.
type texts struct {
	now func() time.Time
	max int // bytes of all of them

	mu    sync.Mutex
	bytes int
	logs  []*logTexts // the last one used at the end
}

// logTexts are those of one log, by the index of the event. The lock is that of texts.
type logTexts struct {
	all  *texts
	id   string
	used time.Time
	said []said
	size int
	gone bool // forgotten: nothing is added any more
}

// said is the text of an event; without a name it is not known.
type said struct{ name, text string }

const (
	// maxTexts bounds the texts in memory, in bytes.
	maxTexts = 64 << 20
	// saidSize is what an event takes beside its text.
	saidSize = 32
)

// of are the texts of a conversation, in lower case.
func (t *texts) of(id string, events int) *logTexts {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &logTexts{all: t, id: id}
	if i := slices.IndexFunc(t.logs, func(l *logTexts) bool { return l.id == id }); i >= 0 {
		l = t.logs[i]
		t.logs = slices.Delete(t.logs, i, i+1)
	}
	t.logs = append(t.logs, l)
	l.used = t.now()
	if more := events - len(l.said); more > 0 && t.room(l, more*saidSize) {
		l.said = append(slices.Grow(l.said, more), make([]said, more)...)
		l.size += more * saidSize
		t.bytes += more * saidSize
	}
	return l
}

// room makes room for more of a log: what was not used for longest is forgotten.
func (t *texts) room(l *logTexts, more int) bool {
	for t.bytes+more > t.max && len(t.logs) > 0 && t.logs[0] != l {
		t.forget(0)
	}
	return t.bytes+more <= t.max
}

func (t *texts) forget(i int) {
	t.bytes -= t.logs[i].size
	t.logs[i].said, t.logs[i].gone = nil, true
	t.logs = slices.Delete(t.logs, i, i+1)
}

// tidy forgets the texts that were not asked for since a time.
func (t *texts) tidy(since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.logs) > 0 && t.logs[0].used.Before(since) {
		t.forget(0)
	}
}

// get is the text of an event, if it is known.
func (l *logTexts) get(i int, name string) (string, bool) {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	if i >= len(l.said) || l.said[i].name != name {
		return "", false
	}
	return l.said[i].text, true
}

// put notes the text of an event, if there is room for it.
func (l *logTexts) put(i int, name, text string) {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	if l.gone || i >= len(l.said) || l.said[i].name == name {
		return
	}
	more := len(text) - len(l.said[i].text)
	if !l.all.room(l, more) {
		return
	}
	l.said[i] = said{name, strings.Clone(text)}
	l.size += more
	l.all.bytes += more
}
