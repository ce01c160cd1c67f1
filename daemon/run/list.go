package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// Running is a job that has not ended, as a list shows it.
type Running struct {
	AnswerID     string
	Conversation string
	Token        string // its id
	Who          string // its name
	Profile      string
	Made         time.Time  // of the request
	Admitted     time.Time  // since when it runs; zero: it waits
	Place        int        // in the queue; 0: it does not wait there
	Usage        turn.Usage // so far
}

// Runs lists the jobs of a token that have not ended, oldest first; an empty
// token means those of every token. Answers from a record are not among them, nor jobs of
// other gateways.
func (m *Manager) Runs(token string) []Running {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Running
	for _, q := range m.queues {
		for _, j := range q.jobs {
			if token != "" && j.req.Token != token || j.life.hasEnded() {
				continue
			}
			r := Running{
				AnswerID: j.answerID, Conversation: j.id, Token: j.req.Token, Who: j.req.Who, Profile: j.req.Profile, Made: j.life.made,
			}
			if r.Admitted, r.Usage = j.life.progress(); r.Admitted.IsZero() {
				r.Place = m.place(j)
			}
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Running) int {
		return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.AnswerID, b.AnswerID))
	})
	return list
}
