package library

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/pluginset"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/internal/uuid"
)

// liveTime is how long a record waits for an open conversation; then its files,
// which lag behind by a step at most, have to do.
const liveTime = time.Second

// Record is a conversation as it is now: from memory while it is open here.
func (lib *Library) Record(ctx context.Context, id string) (control.Record, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return control.Record{}, apierr.NotFound(id)
	}
	r, err := lib.record(ctx, id)
	if err != nil {
		return control.Record{}, agentapi.InProcess(lib.opening.Explain(ctx, id, err))
	}
	if r.LeftOut, err = store.Beyond(lib.cfg.Dir, id); err != nil {
		return control.Record{}, agentapi.InProcess(lib.opening.Explain(ctx, id, err))
	}
	return r, nil
}

func (lib *Library) record(ctx context.Context, id string) (control.Record, error) {
	if conv := lib.cfg.Open.Live(id); conv != nil {
		ctx, cancel := context.WithTimeout(ctx, liveTime)
		defer cancel()
		if state, meta, err := conv.Record(ctx); err == nil {
			return lib.recordOf(state, meta)
		}
	}
	state, err := store.Peek(lib.cfg.Dir, id)
	if err != nil {
		return control.Record{}, err
	}
	state.Status = store.StatusNow(lib.cfg.Dir, id, state.Status, lib.cfg.Options)
	meta, err := store.PeekMeta(lib.cfg.Dir, id)
	if err != nil {
		return control.Record{}, err
	}
	return lib.recordOf(state, meta)
}

// recordOf shows a conversation to others: without secrets, and without the tags in
// which ohgw keeps its notes.
func (lib *Library) recordOf(state store.State, meta store.RawMeta) (control.Record, error) {
	calls, err := store.PeekCalls(lib.cfg.Dir, state.ID)
	if err != nil {
		return control.Record{}, err
	}
	state.Stats = withCalls(state.Stats, calls)
	about := meta.Description()
	r := control.Record{ID: state.ID, Title: about.Title, Status: state.Status}
	r.Created, r.Updated = store.Times(lib.cfg.Dir, state.ID, meta)
	stored := storedagent.Agent{}
	if err := json.Unmarshal(state.Agent, &stored); err == nil {
		masked, err := stored.Replaced(storedagent.Hide)
		if err != nil {
			return r, &store.DamageError{File: "base_state.json", Err: err}
		}
		state.Agent, _ = json.Marshal(masked) // of what was decoded before
	}
	registry, err := hiddenSources(state.SecretRegistry, "secret_sources")
	if err != nil {
		return r, &store.DamageError{File: "base_state.json", Err: err}
	}
	state.SecretRegistry, state.Tags = registry, tag.Others(state.Tags)
	if r.State, err = json.Marshal(state); err != nil {
		return r, err
	}
	shown := make(store.RawMeta, len(meta))
	maps.Copy(shown, meta)
	delete(shown, pluginset.DirsMember)
	if tags, ok := shown["tags"]; ok {
		var all map[string]string
		if json.Unmarshal(tags, &all) == nil {
			shown["tags"], _ = json.Marshal(tag.Others(all))
		}
	}
	if secrets, err := hiddenSources(shown["secrets"], ""); err == nil {
		shown["secrets"] = secrets
	} else {
		delete(shown, "secrets")
	}
	r.Meta, err = json.Marshal(shown)
	return r, err
}

// hiddenSources hides the values of secrets: those of a member of an object, or with
// "" the object itself.
func hiddenSources(data json.RawMessage, member string) (json.RawMessage, error) {
	if len(data) == 0 || string(data) == "null" {
		return json.RawMessage(`{}`), nil
	}
	all := storedagent.Agent{}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	sources := all
	if member != "" {
		sources = all.Object(member)
	}
	for name, source := range sources {
		hidden, err := storedagent.ReplacedSource(source, storedagent.Hide)
		if err != nil {
			return nil, err
		}
		sources[name] = hidden
	}
	if member != "" {
		all.Set(member, sources)
	}
	return json.Marshal(all)
}
