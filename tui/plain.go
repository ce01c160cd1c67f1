package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/safe"
)

// plain is the chat line by line: nothing is drawn twice, nothing moves, and
// every line says by a word what it is. A screen reader reads it as it comes.
type plain struct {
	cfg    Config
	lines  <-chan string // what the user writes; closed at its end
	group  sync.WaitGroup
	models []gateway.Model
	chosen string
	convo  Conversation
	system string
	images []Image
	last   *gateway.Question
	joins  bool     // asking last again joins the run that may still go on
	said   []string // the conversation, as Markdown
	answer string   // the last one
}

// errLeave ends the chat without a word.
var errLeave = errors.New("leave")

// runPlain chats line by line. What is typed is read by a goroutine that ends
// with cfg.In; nothing can take it back from a read that waits.
func runPlain(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	p := &plain{cfg: cfg, chosen: cfg.Start.Model, system: cfg.Start.System, images: cfg.Start.Images}
	defer p.group.Wait()
	defer cancel()
	p.convo = Conversation{ID: cfg.Start.Conversation, Place: cfg.Place.Title}
	if p.convo.ID == "" {
		p.convo.ID = cfg.NewID()
	}
	lines := make(chan string)
	p.lines = lines
	go readLines(ctx, cfg, lines) // Not waited for: see above.
	p.print("ohgw chat " + atPlace(cfg) + ". Write a question and press Enter; a line that ends with a backslash goes on. /help lists the commands.")
	if cfg.Place.Notice != "" {
		p.print(cfg.Place.Notice)
	}
	err := p.chat(ctx)
	if cfg.Hints.Resume != nil && p.convo.Turns > 0 {
		p.print("Go on later with: " + cfg.Hints.Resume(p.convo.ID))
	}
	if errors.Is(err, errLeave) {
		return nil
	}
	return err
}

func readLines(ctx context.Context, cfg Config, lines chan<- string) {
	defer close(lines)
	in := bufio.NewReader(cfg.In)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			select {
			case lines <- strings.TrimRight(line, "\r\n"):
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// print writes a line. An output that is gone is noticed by who reads it.
func (p *plain) print(s string) { _, _ = fmt.Fprintln(p.cfg.Out, safe.Text(s)) }

func (p *plain) chat(ctx context.Context) error {
	if err := p.connect(ctx); err != nil {
		return err
	}
	if text := p.cfg.Start.Text; text != "" {
		p.print("You: " + text)
		if err := p.ask(ctx, p.question(text)); err != nil {
			return err
		}
	}
	for {
		text, err := p.read(ctx)
		if err != nil {
			return err
		}
		if name, rest, ok := slash(text); ok {
			err = p.command(ctx, name, rest)
		} else if strings.TrimSpace(text) != "" {
			err = p.ask(ctx, p.question(text))
		}
		if err != nil {
			return err
		}
	}
}

// read waits for what the user writes next.
func (p *plain) read(ctx context.Context) (string, error) {
	var text strings.Builder
	_, _ = fmt.Fprint(p.cfg.Out, "> ")
	for {
		line, err := p.line(ctx)
		if err != nil {
			return "", err
		}
		more, goesOn := strings.CutSuffix(line, `\`)
		text.WriteString(more)
		if !goesOn {
			return text.String(), nil
		}
		text.WriteByte('\n')
	}
}

func (p *plain) line(ctx context.Context) (string, error) {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", errLeave
		}
		return line, nil
	case <-p.cfg.Interrupt:
		return "", errLeave
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// connect waits until there is a model to talk to.
func (p *plain) connect(ctx context.Context) error {
	for attempt, before := 0, ""; ; attempt++ {
		models, err := p.list(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var what string
		switch {
		case err == nil && len(models) > 0:
			p.models = models
			if p.chosen == "" {
				p.chosen = gateway.Preferred(models)
			}
			p.print("Model: " + p.chosen)
			return nil
		case err == nil:
			what = "There is no model to talk to yet. These help" + orElse(p.cfg.Hints.NoModels) + ". Looking again by itself."
		case asGateway(err).Kind == gateway.Unreachable:
			what = "Nothing answers " + atPlace(p.cfg) + ". Start it" + orElse(p.cfg.Hints.Unreachable) + ". Trying again by itself."
		case asGateway(err).Kind == gateway.Locked:
			return err
		default:
			what = "Error: " + sentence(err.Error()) + " Trying again by itself."
		}
		if what != before {
			p.print(what)
			before = what
		}
		if err := p.pause(ctx, min(time.Second<<min(attempt, 4), 10*time.Second)); err != nil {
			return err
		}
	}
}

// list asks for the models, and says so when that takes long.
func (p *plain) list(ctx context.Context) ([]gateway.Model, error) {
	type answer struct {
		models []gateway.Model
		err    error
	}
	got := make(chan answer, 1)
	p.group.Go(func() {
		models, err := p.cfg.Endpoint.Models(ctx)
		got <- answer{models, err}
	})
	slow := time.NewTimer(hungAfter)
	defer slow.Stop()
	for {
		select {
		case a := <-got:
			return a.models, a.err
		case <-slow.C:
			p.print("Waiting for " + place(p.cfg) + " to list its models.")
		}
	}
}

func (p *plain) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.cfg.Interrupt:
		return errLeave
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *plain) command(ctx context.Context, name, rest string) error {
	switch name {
	case "/quit":
		return errLeave
	case "/help":
		for _, c := range slashCommands {
			if plainly(c.name) {
				p.print(strings.TrimSpace(c.name+" "+c.args) + ": " + c.what)
			}
		}
	case "/model":
		p.model(rest)
	case "/new":
		p.begin(p.cfg.NewID(), "New conversation.")
	case "/resume":
		p.resume(ctx, rest)
	case "/id":
		p.print(p.convo.ID)
	case "/retry":
		if p.last == nil {
			p.print("There is nothing to ask again.")
			return nil
		}
		q := *p.last
		if !p.joins {
			q.Key = p.cfg.NewID()
		}
		return p.ask(ctx, q)
	case "/system":
		p.system = rest
		p.print("Instructions from the next question on: " + rest)
	case "/image", "/save", "/copy":
		p.outside(ctx, name, rest)
	default:
		p.print(name + " needs a screen.")
	}
	return nil
}

// plainly reports whether a command works line by line.
func plainly(name string) bool {
	switch name {
	case "/find", "/progress", "/mouse":
		return false
	}
	return true
}

func (p *plain) model(name string) {
	for _, x := range p.models {
		if x.ID == name {
			p.chosen = name
			p.print("Model: " + name)
			return
		}
	}
	p.print("Models (/model NAME takes one):")
	for _, x := range p.models {
		if x.Plain && x.ID != p.chosen {
			continue
		}
		p.print(strings.TrimSuffix(x.ID+": "+x.Description, ": "))
	}
}

func (p *plain) begin(id, note string) {
	p.convo = Conversation{ID: id, Place: p.cfg.Place.Title}
	p.last, p.answer, p.said = nil, "", nil
	p.print(note)
}

func (p *plain) resume(ctx context.Context, id string) {
	if id != "" {
		p.begin(id, "Going on with conversation "+id+".")
		return
	}
	if p.cfg.Recent == nil {
		p.print("Conversations are not kept here; /resume ID takes one up.")
		return
	}
	list, err := p.cfg.Recent.List(ctx)
	if err != nil {
		p.print("Error: " + sentence(err.Error()))
		return
	}
	p.print("Conversations (/resume ID takes one up): " + strconv.Itoa(len(list)))
	for _, c := range list {
		p.print(c.ID + ": " + c.Title + ", " + ago(p.cfg.Now().Sub(c.Used)))
	}
}

// outside does what needs the world, as far as there is one.
func (p *plain) outside(ctx context.Context, name, rest string) {
	var what string
	var err error
	switch {
	case name == "/image" && p.cfg.ReadImage != nil && rest != "":
		var img Image
		if img, err = p.cfg.ReadImage(ctx, rest); err == nil {
			p.images = append(p.images, img)
			what = "Attached " + imageLabel(img) + "."
		}
	case name == "/save" && p.cfg.Save != nil && rest != "":
		if what, err = p.cfg.Save(ctx, rest, strings.Join(p.said, "")); err == nil {
			what = "Saved to " + what + "."
		}
	case name == "/copy" && p.cfg.Copy != nil && p.answer != "":
		err = p.cfg.Copy(ctx, p.answer)
		what = "Copied the answer."
	default:
		what = name + " cannot be done now."
	}
	if err != nil {
		what = "Error: " + sentence(err.Error())
	}
	p.print(what)
}
