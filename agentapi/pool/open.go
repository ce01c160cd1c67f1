package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
)

// Open makes a conversation at the member with the most free slots, or continues it
// where it is.
func (b *Backend) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if req.New && req.Existing {
		return nil, &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "A conversation cannot be both new and existing."}
	}
	if !req.New {
		m, err := b.where(ctx, req.ID)
		switch {
		case err != nil:
			return nil, err
		case m == nil && req.Existing:
			return nil, notFound(req.ID)
		case m != nil:
			c, err := b.again(ctx, m, req)
			if req.Existing || !errors.Is(err, agentapi.ErrConversationNotFound) {
				return c, err
			}
		}
	}
	return b.begin(ctx, req)
}

// again opens a conversation at its member. Where that has no such conversation it is
// made there, if the member takes new ones; else it is ErrConversationNotFound.
func (b *Backend) again(ctx context.Context, m *member, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if !req.Existing && !m.takes(b.wanted(req.Profile)) {
		req.Existing, req.Profile = true, ""
	}
	release := m.hold(req.ID)
	c, err := m.to.Open(ctx, req)
	m.note(err)
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		b.forget(ctx, req.ID, m)
	}
	return b.wrap(m, c, release, err)
}

// begin makes a conversation. The note comes first: with it a crash loses none. A
// member that does not answer has started nothing, so the next one is tried.
func (b *Backend) begin(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if err := b.agree(ctx, req.Profile); err != nil {
		return nil, err
	}
	var tried []*member
	var last error
	for {
		m, release, err := b.pick(ctx, req.ID, req.Profile, tried)
		if err != nil {
			return nil, firstOf(last, err)
		}
		c, err := m.to.Open(ctx, req)
		m.note(err)
		if err == nil {
			return b.wrap(m, c, release, nil)
		}
		release()
		if ctx.Err() != nil || errors.Is(err, agentapi.ErrUncertain) {
			return nil, err
		}
		b.forget(ctx, req.ID, m)
		if !errors.Is(err, agentapi.ErrUnavailable) || slices.Contains(tried, m) {
			return nil, err
		}
		tried, last = append(tried, m), err
	}
}

// agree makes sure that the pool has a profile. A new one may not be known yet.
func (b *Backend) agree(ctx context.Context, profile string) error {
	for range 2 {
		list, err := b.known(ctx)
		if err == nil && slices.ContainsFunc(list, func(p agentapi.Profile) bool { return p.Name == profile }) {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		b.gather(ctx)
	}
	list, err := b.known(ctx)
	if err != nil || slices.ContainsFunc(list, func(p agentapi.Profile) bool { return p.Name == profile }) {
		return err
	}
	return &agentapi.Error{
		Kind: agentapi.ErrProfileNotFound,
		Msg:  fmt.Sprintf("Most agent-servers of the pool have no LLM profile %q. GET /v1/models lists the profiles that they agree on.", profile),
	}
}

// wanted is a profile as the pool has it.
func (b *Backend) wanted(profile string) variant {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, _ := b.agreed.named(profile)
	return variantOf(p)
}

// takes reports whether the member takes new conversations of a profile.
func (m *member) takes(want variant) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return want != (variant{}) && m.known && m.listed && !m.lost() && m.shared.State != agentapi.MemberDraining &&
		slices.ContainsFunc(m.list, func(p agentapi.Profile) bool { return variantOf(p) == want })
}

// clean reports whether nothing speaks against the member.
func (m *member) clean() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.misses == 0 && (m.flight == nil || m.b.cfg.Now().Sub(m.since) < suspectAfter)
}

// candidates are the members for a new conversation in random order, without those that
// were tried: those that nothing speaks against, or all.
func (b *Backend) candidates(profile string, all bool, tried []*member) []*member {
	want := b.wanted(profile)
	var list []*member
	for _, m := range b.all() {
		if m.takes(want) && (all || m.clean()) && !slices.Contains(tried, m) {
			list = append(list, m)
		}
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] }) //nolint:gosec // it spreads load, and no secret depends on it
	return list
}

// candidate is the member as one that a conversation may be given to.
func (m *member) candidate() placement.Candidate {
	m.mu.Lock()
	defer m.mu.Unlock()
	return placement.Candidate{Name: m.name, Runs: len(m.held), Room: m.room()}
}

// room is how many runs the member has turned out to have room for; 0: no limit is known.
func (m *member) room() int {
	if limited, ok := m.to.(agentapi.Limited); ok {
		return limited.Room()
	}
	return 0
}

// pick gives a new conversation to a member. One at a time: the next one sees it.
func (b *Backend) pick(ctx context.Context, id, profile string, tried []*member) (m *member, release func(), err error) {
	select {
	case b.placing <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("wait for a place: %w", ctx.Err())
	}
	defer func() { <-b.placing }()
	for round := range 3 {
		if round == 2 { // what is noted may have changed since it was read
			b.rejoin()
			b.sync(ctx)
		}
		var among []placement.Candidate
		for _, m := range b.candidates(profile, round > 0, tried) {
			among = append(among, m.candidate())
		}
		if len(among) == 0 {
			continue
		}
		at, err := b.cfg.Placer.Place(ctx, id, among)
		switch {
		case errors.Is(err, placement.ErrNone):
			continue
		case err != nil:
			return nil, nil, noteFault(ctx, err)
		}
		if m := b.named(at); m != nil {
			return m, m.hold(id), nil
		}
	}
	return nil, nil, b.noneTakes(profile)
}

// noneTakes says why no member takes a new conversation.
func (b *Backend) noneTakes(profile string) error {
	var why []string
	want := b.wanted(profile)
	for _, m := range b.all() {
		st, _ := m.status()
		switch {
		case st.State != agentapi.MemberUp:
			why = append(why, m.name+": "+string(st.State))
		case !m.takes(want):
			why = append(why, m.name+": another profile")
		default:
			why = append(why, m.name+": no answer")
		}
	}
	return &agentapi.Error{
		Kind: agentapi.ErrUnavailable,
		Msg:  fmt.Sprintf("No agent-server of the pool takes new conversations (%s); nothing was started. List them with ohgw pool list.", strings.Join(why, ", ")),
	}
}
