package run

import (
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/rescue"
)

func (j *job) oneShot() bool { return j.req.ConversationID == "" && !j.req.Keep && j.follow == nil }

// enter opens or makes the conversation. A one-shot is noted before it is made;
// one that is continued is kept before anything happens in it.
func (j *job) enter() (conv agentapi.Conversation, forked bool, err error) {
	if j.oneShot() {
		undo, err := j.noteOneShot()
		if err != nil {
			return nil, false, err
		}
		conv, forked, err = j.find()
		if err != nil && nothingStarted(err) {
			undo()
		}
		if err != nil {
			return nil, false, err
		}
		if err = j.claim(true); err != nil {
			return nil, false, j.disown(conv, true, err)
		}
		return conv, forked, nil
	}
	if conv, forked, err = j.find(); err != nil || j.follow != nil {
		return conv, forked, err
	}
	info := conv.Info()
	made := info.Created || forked
	if err = j.claim(made); err == nil && !made {
		err = j.sameWorkspace(info)
	}
	if err != nil {
		return nil, false, j.disown(conv, made, err)
	}
	keep := j.m.oneShots.Keep
	if j.req.Once {
		keep = j.m.oneShots.Hold
	}
	if err = keep(j.id); err != nil {
		return nil, false, errors.Join(err, conv.Close())
	}
	return conv, forked, nil
}

// noteOneShot notes the conversation of a one-shot, unless its claim has; undo takes that back.
func (j *job) noteOneShot() (undo func(), err error) {
	if j.share != nil && j.share.noted {
		return func() { j.m.oneShots.Removed(j.id) }, nil
	}
	return j.m.oneShots.Add(j.id)
}

// open enters the conversation and notes what of the request has no effect on
// it.
func (j *job) open() (agentapi.Conversation, error) {
	conv, forked, err := j.enter()
	if err != nil {
		return nil, err
	}
	if err := rescue.Do(func() error { return j.prepare(conv, forked) }); err != nil {
		return nil, errors.Join(err, conv.Close())
	}
	return conv, nil
}

// prepare brings the conversation and the request together.
func (j *job) prepare(conv agentapi.Conversation, forked bool) error {
	info := conv.Info()
	j.delivery.setPlace(info.Workspace)
	j.forked = forked
	j.tellNote()
	if compose := j.composer(); compose != nil && j.follow == nil {
		text, kind, line := compose(info, forked)
		if line != "" {
			j.publish(turn.Update{Kind: turn.Progress, Text: line})
		}
		j.prefix = text
		j.delivery.setKind(kind)
	}
	if err := j.recall(); err != nil {
		return err
	}
	if err := j.confirm(conv); err != nil || info.Created && !forked || j.follow != nil {
		return err
	}
	if j.req.System != "" && (!info.SystemKnown || info.System != j.req.System) {
		j.delivery.ignore(IgnoredSystem)
	}
	if info.Profile == j.req.Profile || info.OwnModel && j.req.AnyModel {
		return nil
	}
	return switchError(conv.Switch(j.life.ctx, j.req.Profile))
}

// tellNote makes the note of the request the first line of progress.
func (j *job) tellNote() {
	if j.req.Note != "" && j.follow == nil {
		j.publish(turn.Update{Kind: turn.Progress, Text: j.req.Note})
	}
}

// recall finds what clients said in the conversation outside of its runs.
func (j *job) recall() error {
	if j.m.cfg.Earlier == nil || j.follow != nil || j.req.ConversationID == "" {
		return nil
	}
	j.earlier = j.m.cfg.Earlier(j.id, j.req.Message.Text)
	var err error
	if j.said, err = j.earlier.Compose(); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return nil
}

// composer is what says what goes before the message; nil: the request's quotation
// does.
func (j *job) composer() func(info agentapi.Info, forked bool) (text, kind, line string) {
	if j.req.Chat != nil {
		return j.req.Chat.Compose
	}
	return j.req.Compose
}

// confirm gives the conversation the confirmation mode that the request asks for, or
// the lowest one of its token if it has a lower one.
func (j *job) confirm(conv agentapi.Conversation) error {
	want, least := j.req.Confirmation, j.req.Least
	if want == "" && least == "" || j.follow != nil {
		return nil
	}
	state, err := conv.State(j.life.ctx)
	if err != nil {
		return err
	}
	have := agentapi.ConfirmationOf(state.ConfirmationPolicy)
	met := least.MetBy(state.ConfirmationPolicy)
	switch {
	case (want == "" || want == have) && met:
		return nil
	case want == "":
		return j.raise(conv, have.Stricter(least))
	case want.Below(have) && (j.req.Floor == "" || want.Below(j.req.Floor)), want.Stricter(least) != want:
		return ErrConfirmation
	}
	return conv.Confirm(j.life.ctx, want)
}

// raise sets a mode that no request has named.
func (j *job) raise(conv agentapi.Conversation, mode agentapi.Confirmation) error {
	err := conv.Confirm(j.life.ctx, mode)
	if errors.Is(err, agentapi.ErrUnsupported) {
		return fmt.Errorf("%w: %v", ErrFloor, err) //nolint:errorlint // not the request of a client that the backend does not support
	}
	return err
}

// find opens, makes or copies the conversation.
func (j *job) find() (conv agentapi.Conversation, forked bool, err error) {
	if j.req.From != "" && j.follow == nil {
		conv, err = j.fork()
		if conv != nil || err != nil {
			return conv, true, err
		}
	}
	workspace := j.req.Workspace
	if workspace == "" {
		workspace = j.m.workspace(j.id)
	}
	// A one-shot that is removed at once has nothing to be closed for first.
	once := j.oneShot() && j.m.cfg.OneShotTTL > 0
	conv, err = j.m.cfg.Backend.Open(j.life.ctx, agentapi.OpenRequest{
		ID: j.id, New: j.isNew(), Once: once, OneShot: j.oneShot(), Unkept: j.oneShot() && j.req.IdempotencyKey == "",
		Existing: j.req.Existing || j.follow != nil, Profile: j.req.Profile, System: j.req.System, Workspace: workspace, ReadOnly: j.req.ReadOnly,
		Progress: func(line string) { j.publish(turn.Update{Kind: turn.Progress, Text: line}) },
	})
	return conv, false, err
}

// fork copies the origin of the request's conversation. It is nil where that
// cannot be done: then a new one is told what was said.
func (j *job) fork() (agentapi.Conversation, error) {
	origin, err := j.m.cfg.Backend.Open(j.life.ctx, agentapi.OpenRequest{ID: j.req.Origin, Existing: true})
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := j.sameWorkspace(origin.Info()); err != nil {
		return nil, errors.Join(err, origin.Close())
	}
	conv, err := origin.Fork(j.life.ctx, agentapi.ForkRequest{ID: j.id, From: j.req.From})
	if closing := origin.Close(); err == nil {
		err = closing
	}
	for _, cannot := range []error{agentapi.ErrUnsupported, agentapi.ErrRefused, agentapi.ErrConversationNotFound} {
		if errors.Is(err, cannot) {
			j.m.cfg.Logger.Info("cannot copy conversation; a new one is started with the chat's messages", "conversation_id", j.req.Origin, "err", err)
			return nil, nil
		}
	}
	return conv, err
}
