package tui

import (
	"bufio"
	"context"
	"strings"
	"time"

	"github.com/ohgw/ohgw/tui/human"
)

// togetherTime is how long the next line of a paste may take: no fingers write two
// lines in it.
const togetherTime = 50 * time.Millisecond

// typedLines is a line, or several that came together.
type typedLines struct {
	text  string
	lines int
}

// readLines reads what is typed. It continues to read while the chat takes no entries, so
// that lines which came one after the other are not taken for a paste later.
func readLines(ctx context.Context, cfg Config, entries chan<- typedLines) {
	defer close(entries)
	raw := make(chan string)
	go readRaw(ctx, cfg, raw) // not waited for: nothing ends a read
	var queue []typedLines
	open := false // the last typedLines may get more lines
	quiet := time.NewTimer(togetherTime)
	defer quiet.Stop()
	for raw != nil || len(queue) > 0 {
		var to chan<- typedLines
		var first typedLines
		if len(queue) > 1 || len(queue) == 1 && !open {
			to, first = entries, queue[0]
		}
		select {
		case line, ok := <-raw:
			if !ok {
				raw, open = nil, false
				continue
			}
			queue = collect(queue, line, open)
			open = true
			quiet.Reset(togetherTime)
		case <-quiet.C:
			open = false
		case to <- first:
			queue = queue[1:]
		case <-ctx.Done():
			return
		}
	}
}

func collect(queue []typedLines, line string, open bool) []typedLines {
	if !open {
		return append(queue, typedLines{line, 1})
	}
	last := &queue[len(queue)-1]
	last.text += "\n" + line
	last.lines++
	return queue
}

// readRaw reads lines until the end of the input.
func readRaw(ctx context.Context, cfg Config, raw chan<- string) {
	defer close(raw)
	in := bufio.NewReader(cfg.In)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			select {
			case raw <- strings.TrimRight(line, "\r\n"):
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// entered takes what the user wrote. A paste waits for Enter, as the rest of its
// last line does in the terminal, and is a question whatever it begins with.
func (p *plain) entered(e typedLines) {
	switch {
	case e.lines > 1:
		p.written += e.text + "\n"
		p.pasted, p.asked = true, false
		p.print(human.Count(e.lines, "line") + " pasted. Enter sends them as one message, with what you write before; Ctrl+C drops them.")
	case p.pasted:
		text := strings.TrimRight(p.written+e.text, "\n")
		p.written, p.pasted, p.asked, p.typed = "", false, false, true
		if strings.TrimSpace(text) != "" {
			p.run(p.chat.Submit(text, text))
		}
	default:
		p.line(e.text)
	}
}
