package run

import (
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// Past is a turn that an earlier process started and did not see the end of.
type Past struct {
	Conversation string
	Answer       string    // as of [Attachment.AnswerID]
	Created      time.Time // of the answer
	Base         turn.Baseline
}

// Rejoin follows a turn of an earlier process to its end, for a request that has
// no more than a token, a profile and an observer. The caller must Close the
// attachment. A turn whose run is gone ends with ErrInterrupted.
func (m *Manager) Rejoin(req Request, p Past) (*Attachment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.draining {
		return nil, ErrDraining
	}
	req.ConversationID, req.Detach = p.Conversation, true
	j := m.newJob(req, &record{readable: true, conversation: p.Conversation, answer: p.Answer, created: p.Created, baseline: p.Base, started: p.Created})
	a := j.attach(nil)
	m.start(j)
	return a, nil
}

// IsBusy reports whether a job of this conversation is queued or runs.
func (m *Manager) IsBusy(conversation string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[conversation]
	return q != nil && len(q.jobs) > 0
}
