// Package transcript keeps what a run has published, for readers that come late.
package transcript

import (
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// Log is what a run has published, for those who attach late and those
// who read slowly. Pieces of one kind are joined in blocks, with their bounds,
// so that a token costs its text and four bytes. Where more than limit bytes
// came after a block, it is dropped: a piece is there for everybody who reads
// at once, however large it is. Its caller's mutex guards it.
type Log struct {
	limit  int
	blocks []*block
	first  int // index of the first update that is still there, since the job began
	next   int // index of the next one
	bytes  int // of all blocks
	brief  int // how many of the blocks have given up their long asides
}

// New makes a log of at most limit bytes, and the newest block.
func New(limit int) Log { return Log{limit: limit} }

// First is the index of the first update that is still there, since the run began.
func (t *Log) First() int { return t.first }

// Next is the index of the next update.
func (t *Log) Next() int { return t.next }

// Bytes is how much memory the updates take.
func (t *Log) Bytes() int { return t.bytes }

// block is updates of one kind.
type block struct {
	kind   turn.UpdateKind
	first  int // index of its first update
	text   strings.Builder
	ends   []int         // in text
	asides map[int]aside // what some updates have besides their text
	noted  int           // bytes of asides
}

// aside is what an update has besides its text.
type aside struct {
	call  *turn.Call
	retry *turn.Retry
	block *agentapi.Block
	phase *event.Phase
}

func (n aside) size() int {
	const fields = 64
	size := fields
	if n.call == nil {
		size += fields
	} else {
		size += n.call.Size()
	}
	if n.block != nil {
		size += fields + len(n.block.Target) + len(n.block.Why) + len(n.block.Allow)
	}
	return size
}

const (
	// maxBlock is where a block is full, in bytes.
	maxBlock = 64 << 10
	// maxFresh is how many of the newest blocks keep all of their asides.
	maxFresh = 8
	// blockBytes and pieceBytes are what a block and a piece take besides their
	// text.
	blockBytes, pieceBytes = 128, 8
)

func (b *block) size() int { return blockBytes + b.text.Cap() + pieceBytes*cap(b.ends) + b.noted }

// Add appends an update.
func (t *Log) Add(u turn.Update) {
	last := len(t.blocks) - 1
	if last < 0 || t.blocks[last].kind != u.Kind || t.blocks[last].text.Len()+t.blocks[last].noted+len(u.Text) > maxBlock {
		t.blocks = append(t.blocks, &block{kind: u.Kind, first: t.next})
		t.bytes += blockBytes
		last++
	}
	b := t.blocks[last]
	t.bytes -= b.size()
	b.text.WriteString(u.Text)
	b.ends = append(b.ends, b.text.Len())
	if n := (aside{u.Call, u.Retry, u.Block, u.Phase}); n != (aside{}) {
		if b.asides == nil {
			b.asides = make(map[int]aside)
		}
		b.asides[len(b.ends)-1] = n
		b.noted += n.size()
	}
	t.bytes += b.size()
	t.next++
	for t.bytes-t.blocks[0].size() > t.limit {
		if t.shorten() {
			continue
		}
		t.brief = max(0, t.brief-1)
		t.bytes -= t.blocks[0].size()
		t.blocks[0] = nil
		t.blocks = t.blocks[1:]
		t.first = t.blocks[0].first
	}
}

// shorten takes the long asides out of the oldest block that has some, and
// reports whether there was one: text is kept longer than details. The newest
// blocks are there for everybody who reads at once.
func (t *Log) shorten() bool {
	for ; t.brief < len(t.blocks)-maxFresh; t.brief++ {
		b := t.blocks[t.brief]
		if b.noted == 0 {
			continue
		}
		t.bytes -= b.size()
		b.noted = 0
		for i, n := range b.asides {
			if n.call != nil {
				n.call = n.call.Short()
			}
			b.asides[i] = n
			b.noted += n.size()
		}
		t.bytes += b.size()
		t.brief++
		return true
	}
	return false
}

// At returns the update with index i, First <= i < Next.
func (t *Log) At(i int) turn.Update {
	at, _ := slices.BinarySearchFunc(t.blocks, i, func(b *block, i int) int {
		if b.first+len(b.ends) <= i {
			return -1
		}
		return 1 // the first that reaches so far
	})
	b := t.blocks[at]
	begin := 0
	if i > b.first {
		begin = b.ends[i-b.first-1]
	}
	n := b.asides[i-b.first]
	return turn.Update{Kind: b.kind, Text: b.text.String()[begin:b.ends[i-b.first]], Call: n.call, Retry: n.retry, Block: n.block, Phase: n.phase}
}
