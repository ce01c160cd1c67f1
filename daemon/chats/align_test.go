package chats

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowly finds the best place by trying all of them: what align is short for.
func slowly(history []Round, turns []Turn, prove bool) alignment {
	best := alignment{}
	for rest := len(history); rest > 0 && best.run == 0; rest-- {
		for end := len(turns); end > 0; end-- {
			a, proven := alignment{rest: rest, end: end, last: end == len(turns)}, false
			for a.run < min(rest, end) {
				how := history[rest-1-a.run].matches(turns[end-1-a.run])
				if how == different {
					break
				}
				a.score += int(how)
				proven = proven || how >= byAnswer
				a.run++
			}
			a.whole = a.run == rest && a.run == end
			fits := a.run > 0 && a.run == min(rest, end)
			if (proven || fits && !prove) && a.betterThan(best) {
				best = a
			}
		}
	}
	return best
}

func TestAHistoryFindsItsBestPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		digest := rapid.SampledFrom([]Digest{"", "a", "b", "c", "d"})
		history := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Round {
			return Round{User: digest.Draw(t, "user"), Answer: digest.Draw(t, "answer"), Long: rapid.Bool().Draw(t, "long")}
		}), 1, 80).Draw(t, "history")
		turn := rapid.Custom(func(t *rapid.T) Turn {
			return Turn{User: digest.Draw(t, "user"), Answers: rapid.SliceOfN(digest, 0, 2).Draw(t, "answers"), partial: digest.Draw(t, "partial")}
		})
		prove := rapid.Bool().Draw(t, "prove")
		with := newAligner(history, prove)
		for range 2 { // an aligner is used again
			turns := rapid.SliceOfN(turn, 0, 140).Draw(t, "turns")
			if rapid.Bool().Draw(t, "mostly the same") { // long places
				for i := range min(len(turns), len(history)) {
					turns[i].User = history[i].User
				}
			}
			want, got := slowly(history, turns, prove), with.align(turns, 0)
			if want != got {
				t.Fatalf("want %+v, got %+v", want, got)
			}
		}
	})
}

// chatOf are n turns, and a history of all of them.
func chatOf(n int, user, answer, shown func(i int) string) (history []Round, turns []Turn) {
	for i := range n {
		history = append(history, Round{User: Digest(user(i)), Answer: Digest(shown(i)), Long: true, At: 2 * i, End: 2*i + 2})
		turns = append(turns, Turn{User: Digest(user(i)), Answers: []Digest{Digest(answer(i))}, After: fmt.Sprint("e", i)})
	}
	return history, turns
}

// worst are chats that are hard to compare: n turns in 32 branches.
func worst(n int) map[string]struct {
	history  []Round
	branches [][]Turn
} {
	same := func(string) func(int) string { return func(int) string { return "continue" } }
	each := func(prefix string) func(int) string {
		return func(i int) string { return fmt.Sprintf("%s-%020d", prefix, i) }
	}
	all := map[string]struct {
		history  []Round
		branches [][]Turn
	}{}
	for name, f := range map[string][3]func(int) string{
		"nothing matches":                       {each("u"), each("a"), each("x")},
		"the same words":                        {same(""), each("a"), each("a")},
		"the same words, other answers":         {same(""), each("a"), each("x")},
		"the same words and answers":            {same(""), same(""), same("")},
		"the same words, every other answer":    {same(""), each("a"), func(i int) string { return each([]string{"a", "x"}[i%2])(i) }},
		"the same words, the answers elsewhere": {same(""), each("a"), func(i int) string { return each("a")(n - 1 - i) }},
	} {
		history, turns := chatOf(n, f[0], f[1], f[2])
		if name == "nothing matches" {
			for i := range history {
				history[i].User = Digest(each("y")(i))
			}
		}
		c := all[name]
		c.history = history
		for range 32 {
			c.branches = append(c.branches, slices.Clone(turns))
		}
		all[name] = c
	}
	return all
}

// What is compared one by one does not grow with the square of the chat.
func TestComparingIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range worst(999) {
		with := newAligner(c.history, false)
		best := alignment{}
		for _, turns := range c.branches {
			if a := with.align(turns, best.rest); a.betterThan(best) {
				best = a
			}
		}
		if with.steps > maxSteps+32*2*1000 {
			t.Errorf("%s: %d steps", name, with.steps)
		}
		if name != "nothing matches" && (best.end != 999 || best.rest != 999) {
			t.Errorf("%s: found %+v", name, best)
		}
	}
}

func BenchmarkReconcile999x32(b *testing.B) {
	for name, c := range worst(999) {
		for _, shared := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s, shared %t", name, shared), func(b *testing.B) {
				for b.Loop() {
					Reconcile(c.history, c.branches, Rules{Shared: shared})
				}
			})
		}
	}
}
