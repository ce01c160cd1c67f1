package chats_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/openai"
)

// rounds are rounds of these users' messages and answers, in turn; "-" is
// an answer that is missing.
func rounds(texts ...string) []chats.Round {
	var history []openai.Turn
	for i, text := range texts {
		role := []string{"user", "assistant"}[i%2]
		if text != "-" {
			history = append(history, openai.Turn{Role: role, Text: text})
		}
	}
	return chats.Rounds(history)
}

// turns are turns that a conversation has, each with the event e<n> before it.
func turns(texts ...string) []chats.Turn {
	var list []chats.Turn
	for i := 0; i < len(texts); i += 2 {
		t := chats.Turn{User: chats.Of(texts[i]), After: fmt.Sprintf("e%d", i/2)}
		if texts[i+1] != "-" {
			t.Answers = []chats.Digest{chats.Of(texts[i+1])}
		}
		list = append(list, t)
	}
	return list
}

const (
	long  = "an answer that is so long that nothing else in the world reads like it"
	other = "another answer that is just as long, and different from the first one"
)

// The rows are those of the table in docs/chat-uis.md.
func TestReconcile(t *testing.T) {
	t.Parallel()
	three := turns("a", "1", "b", "2", "c", "3")
	told := turns("a", "1", "b", "2")
	told[0].After, told[1].After = "", ""
	whole, shared := chats.Rules{Whole: true}, chats.Rules{Shared: true}
	for _, tt := range []struct {
		name     string
		history  []chats.Round
		branches [][]chats.Turn
		rules    chats.Rules
		want     chats.Plan
	}{
		{"first message", nil, nil, whole, chats.Plan{Kind: chats.New, Branch: -1}},
		{"first try never began", nil, [][]chats.Turn{{}}, whole, chats.Plan{Kind: chats.Continued}},
		{"first message edited", nil, [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.New}},
		{"only what is new", nil, [][]chats.Turn{three}, chats.Rules{}, chats.Plan{Kind: chats.Continued, Keep: 3}},
		{"another chat of a shared id", nil, [][]chats.Turn{three}, shared, chats.Plan{Kind: chats.New, Branch: -1}},
		{"next message", rounds("a", "1", "b", "2", "c", "3"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Continued, Keep: 3, Rest: 3}},
		{"the same in another white space", rounds("a", "1", "b", "2", "c", " 3\n"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Continued, Keep: 3, Rest: 3}},
		{"last message edited or answered anew", rounds("a", "1", "b", "2"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Forked, Keep: 2, Rest: 2}},
		{"earlier message edited", rounds("a", "1"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Forked, Keep: 1, Rest: 1}},
		{"stopped", rounds("a", "1", "b", "2", "c", "-"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Continued, Keep: 3, Rest: 3}},
		{"cut short", rounds("a", "1", "b", "2", "c", "3 a"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Continued, Keep: 3, Rest: 3}},
		{"failed", rounds("a", "1", "b", "-"), [][]chats.Turn{turns("a", "1", "b", "-")}, whole, chats.Plan{Kind: chats.Continued, Keep: 2, Rest: 2}},
		{"failed before it began", rounds("a", "1", "b", "-"), [][]chats.Turn{turns("a", "1")}, whole, chats.Plan{Kind: chats.Continued, Keep: 1, Rest: 1}},
		{"truncated", rounds("b", "2", "c", "3"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Continued, Keep: 3, Rest: 2}},
		{"truncated and edited", rounds("b", "2"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Forked, Keep: 2, Rest: 1}},
		{"summarized", rounds("summary", "of it", "c", "3"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Continued, Keep: 3, From: 1, Rest: 2}},
		{"translated", rounds("a", "eins", "b", "zwei"), [][]chats.Turn{turns("a", "1", "b", "2")}, whole, chats.Plan{Kind: chats.Continued, Keep: 2, Rest: 2}},
		{"a message that the UI has added to", rounds("a", "1", "b", long), [][]chats.Turn{turns("a", "1", "b with context", long)}, whole, chats.Plan{Kind: chats.Continued, Keep: 2, Rest: 2}},
		{"a branch that another tab made", rounds("a", "1", "x", "9"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Forked, Keep: 1, Rest: 1}},
		{"back to an older branch", rounds("a", "1", "b", "2"), [][]chats.Turn{turns("a", "1", "b", "2"), turns("a", "1", "x", "9")}, whole, chats.Plan{Kind: chats.Continued, Keep: 2, Rest: 2}},
		{"edited where nothing can be copied", rounds("a", "1"), [][]chats.Turn{told}, whole, chats.Plan{Kind: chats.Quoted}},
		{"nothing is known", rounds("x", "9"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Quoted}},
		{"an unknown chat with a past", rounds("x", "9"), nil, whole, chats.Plan{Kind: chats.Quoted, Branch: -1}},
		{"the same short words elsewhere", rounds("x", "9", "c", "8"), [][]chats.Turn{three}, whole, chats.Plan{Kind: chats.Quoted}},
		{"equal words, and the answers tell", rounds("yes", long), [][]chats.Turn{turns("yes", long, "yes", other)}, whole, chats.Plan{Kind: chats.Forked, Keep: 1, Rest: 1}},
		{"equal answers, and the words tell", rounds("a", "ok"), [][]chats.Turn{turns("a", "ok", "b", "ok")}, whole, chats.Plan{Kind: chats.Forked, Keep: 1, Rest: 1}},
		{"a shared id with proof", rounds("a", long), [][]chats.Turn{turns("a", other), turns("a", long)}, shared, chats.Plan{Kind: chats.Continued, Branch: 1, Keep: 1, Rest: 1}},
		{"a shared id without proof", rounds("a", "x"), [][]chats.Turn{turns("a", long)}, shared, chats.Plan{Kind: chats.Quoted, Branch: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, chats.Reconcile(tt.history, tt.branches, tt.rules)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// node is a message of the user in the tree of a chat, with its answer.
type node struct {
	user, answer string
	parent       *node
}

func (n *node) path() []*node {
	var path []*node
	for ; n != nil; n = n.parent {
		path = append([]*node{n}, path...)
	}
	return path
}

// Whatever a person does in a chat window, the conversation that goes on has
// been told exactly what the window shows: nothing more, nothing less, nothing
// twice.
func TestAConversationKnowsWhatItsWindowShows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		forks := rapid.Bool().Draw(t, "the backend can fork")
		var all []*node
		var at *node
		var branches [][]chats.Turn
		words := rapid.SampledFrom([]string{"yes", "go on", "what is this?", "a", "b"})
		for step := range rapid.IntRange(1, 25).Draw(t, "steps") {
			// Go on, or go back to anywhere in the tree: an edit, another answer, an
			// older branch.
			if len(all) > 0 && rapid.IntRange(0, 2).Draw(t, "go back") == 0 {
				at = rapid.SampledFrom(append([]*node{nil}, all...)).Draw(t, "to")
			}
			var history []openai.Turn
			for _, n := range at.path() {
				history = append(history, openai.Turn{Role: "user", Text: n.user})
				if n.answer != "" {
					history = append(history, openai.Turn{Role: "assistant", Text: n.answer})
				}
			}
			list := chats.Rounds(history)
			plan := chats.Reconcile(list, branches, chats.Rules{Whole: true})
			next := &node{user: words.Draw(t, "words"), parent: at}
			if rapid.IntRange(0, 4).Draw(t, "fails") > 0 {
				next.answer = fmt.Sprintf("answer %d, which is unlike all the others there are", step)
			}
			var known []chats.Turn
			switch {
			case plan.Kind == chats.Continued || plan.Kind == chats.Forked && forks:
				known = append(known, branches[plan.Branch][:plan.Keep]...)
				if plan.From != 0 {
					t.Fatalf("step %d: the beginning of the history is not known: %+v", step, plan)
				}
				for _, e := range list[plan.Rest:] {
					known = append(known, asTurn(e))
				}
				if plan.Kind == chats.Continued && plan.Keep != len(branches[plan.Branch]) {
					t.Fatalf("step %d: the conversation goes on with turns that were taken back", step)
				}
			default:
				for _, e := range list {
					known = append(known, asTurn(e))
				}
			}
			if len(known) != len(list) {
				t.Fatalf("step %d: the conversation knows %d turns, the window shows %d: %+v", step, len(known), len(list), plan)
			}
			for i, e := range list {
				if known[i].User != e.User || e.Answer != "" && (len(known[i].Answers) == 0 || known[i].Answers[0] != e.Answer) {
					t.Fatalf("step %d: turn %d of the conversation is not what the window shows", step, i)
				}
			}
			made := chats.Turn{User: chats.Of(next.user), After: fmt.Sprintf("e%d", step)}
			if next.answer != "" {
				made.Answers = []chats.Digest{chats.Of(next.answer)}
			}
			known = append(known, made)
			if plan.Kind == chats.Continued {
				branches[plan.Branch] = known
			} else {
				branches = append(branches, known)
			}
			all, at = append(all, next), next
		}
	})
}

func asTurn(e chats.Round) chats.Turn {
	t := chats.Turn{User: e.User}
	if e.Answer != "" {
		t.Answers = []chats.Digest{e.Answer}
	}
	return t
}

func BenchmarkReconcile500Messages(b *testing.B) {
	var history []openai.Turn
	var known []chats.Turn
	for i := range 250 {
		question, answer := fmt.Sprintf("question %d: %s", i, long), ""
		for j := range 20 {
			answer += fmt.Sprintf("line %d of answer %d, %s\n", j, i, other)
		}
		history = append(history, openai.Turn{Role: "user", Text: question}, openai.Turn{Role: "assistant", Text: answer})
		known = append(known, chats.Turn{User: chats.Of(question), Answers: []chats.Digest{chats.Of(answer)}, After: "e"})
	}
	branches := [][]chats.Turn{known[:100], known[:200], known}
	for b.Loop() {
		if p := chats.Reconcile(chats.Rounds(history), branches, chats.Rules{Whole: true}); p.Kind != chats.Continued {
			b.Fatalf("the plan = %+v, want one that continues", p)
		}
	}
}

// A transcript is the same however a client splits and spaces what was said, and
// another one for any other words.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	of := func(texts ...string) chats.Digest {
		var turns []openai.Turn
		for i := 0; i < len(texts); i += 2 {
			turns = append(turns, openai.Turn{Role: texts[i], Text: texts[i+1]})
		}
		return chats.Transcript(turns)
	}
	want := of("user", "do it", "assistant", "I will.\n\nDone.")
	for name, got := range map[string]chats.Digest{
		"two messages":  of("user", "do it", "assistant", "I will.", "assistant", "Done."),
		"other spaces":  of("user", " do  it\n", "assistant", "I will. Done."),
		"a picture":     of("user", "do it\n[image]", "assistant", "I will.\n\nDone."),
		"thoughts":      of("user", "do it", "assistant", "<think>hm</think>I will.\n\nDone."),
		"the question":  of("user", "do it").Answered("I will.\n\nDone."),
		"empty answers": of("user", "do it", "assistant", "", "assistant", "I will.\n\nDone.", "user", ""),
	} {
		if got != want {
			t.Errorf("%s make another transcript", name)
		}
	}
	for name, got := range map[string]chats.Digest{
		"another word":   of("user", "do it", "assistant", "I will.\n\nDone!"),
		"another side":   of("assistant", "do it", "user", "I will.\n\nDone."),
		"another border": of("user", "do", "assistant", "it I will.\n\nDone."),
		"a turn more":    want.Answered("more"),
		"nothing":        of(),
	} {
		if got == want {
			t.Errorf("%s makes the same transcript", name)
		}
	}
}
