package conversation

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// keyRefused is the member of the agent's state that has the pictures which
// providers refused: events, by the model that was not shown them. OpenHands keeps
// the agent's state and its changes, whatever is in it.
const keyRefused = "ohgw_refused_pictures"

// refused is the value of that member: ids of events by the name of the model.
type refused map[string][]string

// refusals are the agent's state, and its member of that name.
func refusals(agentState json.RawMessage) (state map[string]json.RawMessage, r refused) {
	// What cannot be read is nothing that was noted here.
	_ = json.Unmarshal(agentState, &state)
	_ = json.Unmarshal(state[keyRefused], &r)
	return state, r
}

// hidePictures hides the pictures that the provider of this model has refused, and
// those of the events also. Another model is shown them: it may take what this one does
// not.
func (b *branch) hidePictures(also map[string]bool) {
	if b.model == nil {
		return
	}
	ids := make(map[string]bool)
	maps.Copy(ids, also)
	_, r := refusals(b.dir.State.AgentState)
	for _, id := range r[b.model.Info().Model] {
		ids[id] = true
	}
	b.view.Hide(ids)
}

// suspects lists the sets of pictures for which a request may have been refused, in the
// order in which to try without them. The first are those that the agent has not said
// anything about yet: a picture that an answer followed was taken once, and a request
// that is refused for another reason must not cost it. All others come only if the
// provider itself speaks of pictures: another model, or one without vision, may have
// given those answers.
func (a *agent) suspects(err error) []map[string]bool {
	failed, ok := errors.AsType[*llm.Error](err)
	if !ok || !a.branch.model.Info().Vision {
		return nil
	}
	may, named := failed.MayBePictures()
	if !may {
		return nil
	}
	fresh, all := make(map[string]bool), make(map[string]bool)
	for _, p := range a.branch.view.Pictures() {
		all[p.ID] = true
		if !p.Answered {
			fresh[p.ID] = true
		}
	}
	var sets []map[string]bool
	if len(fresh) > 0 {
		sets = append(sets, fresh)
	}
	if named && len(all) > len(fresh) {
		sets = append(sets, all)
	}
	return sets
}

// refusePictures records that the provider refuses the pictures of these events:
// the same request without them was answered.
func (b *branch) refusePictures(ids map[string]bool, err error) error {
	state, r := refusals(b.dir.State.AgentState)
	if state == nil {
		state = make(map[string]json.RawMessage)
	}
	if r == nil {
		r = make(refused)
	}
	model := b.model.Info().Model
	r[model] = append(r[model], slices.Sorted(maps.Keys(ids))...)
	b.cfg.Log.Warn("the provider refused pictures; the model is not shown them any more", "conversation", b.id, "model", model, "events", len(ids), "err", err)
	noted, encodeErr := plainjson.Marshal(r)
	if encodeErr != nil {
		return encodeErr
	}
	state[keyRefused] = noted
	if b.dir.State.AgentState, encodeErr = plainjson.Marshal(state); encodeErr != nil {
		return encodeErr
	}
	return errors.Join(b.record("agent_state", state, durable), b.save(durable))
}
