package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/plainjson"
)

const metaFile = "meta.json"

// Meta is meta.json, which the agent-server lists conversations by: the
// request that made the conversation, without its agent.
type Meta struct {
	Created, Updated time.Time
	// ForkedFrom is the conversation that this one began with, and ForkedAt the
	// event up to which; empty for all of it.
	ForkedFrom, ForkedAt string
	Title                string // "" if there is none
	// Parent is the conversation that this one is a part of; "" if there is none.
	Parent string
	// WantsTitle has a model find a title after the first message.
	WantsTitle bool
	// Others are further members, which this package does not know.
	Others map[string]json.RawMessage
}

// SaveMeta writes meta.json beside the state that it repeats.
func (d *Dir) SaveMeta(m Meta) error { return d.writeMeta(m.beside(d)) }

// begin writes the first meta.json of a conversation. One that is not kept, and of which the
// state and the log have all that the file says, gets it with the first change.
func (m Meta) begin(d *Dir) error {
	if d.opts.Unkept == nil || !m.derived() {
		return d.SaveMeta(m)
	}
	data, err := plainjson.Marshal(m.beside(d))
	if err == nil {
		err = json.Unmarshal(data, &d.meta)
	}
	if err != nil {
		return fmt.Errorf("save conversation: %w", err)
	}
	d.opts.Unkept.put(filepath.Join(d.path, metaFile), data)
	return nil
}

// derived reports whether all but the times follows from the state.
func (m Meta) derived() bool {
	return m.ForkedFrom == "" && m.Title == "" && m.Parent == "" && !m.WantsTitle && len(m.Others) == 0
}

// beside returns what meta.json says beside the state of a directory.
func (m Meta) beside(d *Dir) map[string]any {
	meta := make(map[string]any, len(m.Others)+16)
	for name, value := range m.Others {
		meta[name] = value
	}
	maps.Copy(meta, map[string]any{
		"id": filepath.Base(d.path), "title": nil, "metrics": nil,
		"created_at": stamp(m.Created), "updated_at": stamp(m.Updated),
		"workspace": d.State.Workspace, "tags": d.State.Tags, "secrets": struct{}{},
		"confirmation_policy": d.State.ConfirmationPolicy, "security_analyzer": d.State.SecurityAnalyzer,
		"max_iterations": d.State.MaxIterations, "stuck_detection": d.State.StuckDetection,
		"autotitle": m.WantsTitle,
	})
	if m.Title != "" {
		meta["title"] = m.Title
	}
	if m.Parent != "" {
		meta["parent_conversation_id"] = m.Parent
	}
	if m.ForkedFrom != "" {
		meta["forked_from_conversation_id"] = m.ForkedFrom
	}
	if m.ForkedAt != "" {
		meta["forked_from_event_id"] = m.ForkedAt
	}
	return meta
}

// WantsTitle reports whether a model is to find a title for the conversation.
func (d *Dir) WantsTitle() bool {
	meta := RawMeta(d.meta)
	if meta == nil {
		meta, _ = PeekMeta(filepath.Dir(d.path), d.State.ID) // one that cannot be read asks for nothing
	}
	return string(meta["autotitle"]) == "true" && meta.Description().Title == ""
}

// Meta is meta.json as it is; nil if it cannot be read.
func (d *Dir) Meta() RawMeta {
	if d.meta == nil && d.readMeta(d.opts.Now()) != nil {
		return nil
	}
	return maps.Clone(d.meta)
}

// Retitle gives the conversation another title, or with nil leaves the title as it
// is, and repeats the tags of the state in meta.json.
func (d *Dir) Retitle(at time.Time, title *string) error {
	if title == nil {
		return d.Touch(at, "")
	}
	if *title != "" {
		return d.Touch(at, *title)
	}
	if d.Meta() != nil {
		d.meta["title"] = json.RawMessage("null")
	}
	return d.Touch(at, "")
}

// Amend has change change a conversation that is not open here. The error is
// ErrNotFound, or a [*HeldError] while another process has it.
func Amend(root, id string, opts Options, change func(*Dir) error) error {
	if !Exists(root, id) {
		return ErrNotFound
	}
	d := &Dir{path: Path(root, id), opts: opts.withDefaults()}
	lease, err := claim(d.path, d.opts)
	if err != nil {
		return err
	}
	d.State, err = readState(filepath.Join(d.path, stateFile))
	if err == nil {
		err = change(d)
	}
	if err == nil {
		err = d.Flush()
	}
	return errors.Join(err, lease.release())
}

// Touch notes that the conversation has changed, and with a title what it is
// about. Everything else in meta.json stays as it is. A conversation that only
// an SDK has written has no such file, and gets one.
func (d *Dir) Touch(at time.Time, title string) error {
	if d.meta == nil {
		if err := d.readMeta(at); err != nil {
			return err
		}
	}
	changes := map[string]any{"updated_at": stamp(at), "tags": d.State.Tags}
	if title != "" {
		changes["title"] = title
	}
	for name, value := range changes {
		data, err := plainjson.Marshal(value)
		if err != nil {
			return fmt.Errorf("save conversation: %w", err)
		}
		d.meta[name] = data
	}
	return d.writeMeta(d.meta)
}

// Note sets a member of meta.json that this package does not know.
func (d *Dir) Note(name string, value json.RawMessage) error {
	if d.meta == nil {
		if err := d.readMeta(d.opts.Now()); err != nil {
			return err
		}
	}
	d.meta[name] = value
	return d.writeMeta(d.meta)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func (d *Dir) writeMeta(meta any) error {
	data, err := plainjson.Marshal(meta)
	if err == nil && d.meta == nil {
		err = json.Unmarshal(data, &d.meta)
	}
	if err == nil {
		err = d.twins.write(d.opts.Files, filepath.Join(d.path, metaFile), data, false)
	}
	if err != nil {
		return fmt.Errorf("save conversation: %w", err)
	}
	return nil
}
