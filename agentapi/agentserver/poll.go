package agentserver

import (
	"context"
	"net/url"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/id"
)

// What the server says of a conversation over REST may be a step old, and a
// hook may take back a "finished". So it counts at once only where the log
// confirms it, else when it has not changed for stableFor, as in OpenHands'
// own client, and is as new as the log.
const (
	stableFor   = 30 * time.Second
	retrySocket = 30 * time.Second
	// checkEvery is how long a conversation is silent before a stream looks
	// whether it is still there: the server does not tell when one is deleted.
	checkEvery = 30 * time.Second
)

// poller judges what the server says over REST.
type poller struct {
	status event.Status
	newest string
	since  time.Time
}

// settled reports whether info can be taken for the state now. confirmed is the
// status that the log has, "" if it has none; newest its newest event; leaf the
// newest that is not a state update.
func (p *poller) settled(info conversationInfo, confirmed event.Status, newest, leaf string, now time.Time) bool {
	if info.Status != p.status || newest != p.newest {
		p.status, p.newest, p.since = info.Status, newest, now
	}
	if (confirmed == "" || confirmed == info.Status) && (info.Status != event.Finished || !info.hasHooks()) {
		return true
	}
	current := info.LeafEventID == leaf || info.LeafEventID == "" // before 1.31 it is never old
	begins := confirmed == event.Running && info.Status == event.Idle
	return current && !begins && now.Sub(p.since) >= stableFor
}

// tick asks over REST for a snapshot that is late, or for everything where
// there is no socket.
func (s *stream) tick(ctx context.Context) error {
	now := s.conv.backend.now()
	if s.sock == nil {
		return s.tickWithoutSocket(ctx, now)
	}
	var err error
	switch {
	case !s.owed.IsZero() && now.Sub(s.owed) >= snapshotPatience:
		err = s.poll(ctx, now)
	case now.Sub(s.checked) >= checkEvery:
		_, err = s.describe(ctx, now)
	}
	if err != nil && (s.final(err) != nil || ctx.Err() != nil) {
		return err
	}
	return nil // whether the server is alive, the socket's ping finds out
}

func (s *stream) tickWithoutSocket(ctx context.Context, now time.Time) error {
	if err := s.poll(ctx, now); err != nil {
		return err
	}
	s.heard, s.lost, s.delay = now, time.Time{}, 0
	if now.Sub(s.tried) >= retrySocket {
		return errNoUpgrade
	}
	return nil
}

// describe asks for the conversation. One that is gone while the server lives
// was deleted.
func (s *stream) describe(ctx context.Context, now time.Time) (conversationInfo, error) {
	s.checked = now
	info, err := s.conv.describe(ctx)
	if gone(err) {
		return info, conversationNotFound(s.conv.info.ID, err)
	}
	return info, err
}

func (s *stream) poll(ctx context.Context, now time.Time) error {
	info, err := s.describe(ctx, now)
	if err != nil {
		return err
	}
	if !s.begun {
		return s.pollFirst(ctx, info, now)
	}
	if err := s.catchUp(ctx, s.newestAnchors()); err != nil {
		return err
	}
	fresh := s.delivered != s.told || !s.owed.IsZero()
	if !fresh || !s.poller.settled(info, s.status, s.newest(), s.leaf, now) {
		return nil
	}
	return s.deliverSnapshot(snapshot(info, now))
}

// pollFirst begins the stream with what REST says.
func (s *stream) pollFirst(ctx context.Context, info conversationInfo, now time.Time) error {
	newest, status, err := s.conv.lastStatus(ctx)
	if err != nil {
		return err
	}
	if status == event.Running {
		info.Status = status // no step has ended yet, so nothing else says it
	}
	if info.Status != event.Running && !s.poller.settled(info, status, newest, info.LeafEventID, now) {
		return nil
	}
	s.status = status
	return s.begin(ctx, snapshot(info, now), info.State)
}

func (s *stream) newest() string { return s.anchors[len(s.anchors)-1] }

// lastStatus finds the newest event of the log and the newest status in it.
func (c *conversation) lastStatus(ctx context.Context) (newest string, status event.Status, err error) {
	page, err := c.search(ctx, url.Values{"limit": {pageSize}, "sort_order": {"TIMESTAMP_DESC"}})
	if err != nil {
		return "", "", err
	}
	for i, e := range page.Items {
		if i == 0 {
			newest = e.ID
		}
		if status, ok := e.StatusUpdate(); ok {
			return newest, status, nil
		}
	}
	return newest, "", nil
}

// stampLayout is how the server writes the times of events.
const stampLayout = "2006-01-02T15:04:05.000000"

// snapshot is a full_state update of what REST said.
func snapshot(info conversationInfo, now time.Time) event.Event {
	return event.New(id.New(""), now.Format(stampLayout), event.SourceEnvironment, "",
		&event.StateUpdate{Key: event.KeyFullState, Value: encode(info.State)})
}
