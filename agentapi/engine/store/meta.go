package store

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

const metaFile = "meta.json"

// Meta is meta.json, which the agent-server lists conversations by: the
// request that made the conversation, without its agent.
type Meta struct {
	Created, Updated time.Time
	// ForkedFrom is the conversation that this one began with, and ForkedAt the
	// event up to which; empty for all of it.
	ForkedFrom, ForkedAt string
}

// SaveMeta writes meta.json beside the state that it repeats.
func (d *Dir) SaveMeta(m Meta) error {
	meta := map[string]any{
		"id": filepath.Base(d.path), "title": nil, "metrics": nil,
		"created_at": stamp(m.Created), "updated_at": stamp(m.Updated),
		"workspace": d.State.Workspace, "tags": d.State.Tags, "secrets": struct{}{},
		"confirmation_policy": d.State.ConfirmationPolicy, "security_analyzer": d.State.SecurityAnalyzer,
		"max_iterations": d.State.MaxIterations, "stuck_detection": d.State.StuckDetection,
		"autotitle": false,
	}
	if m.ForkedFrom != "" {
		meta["forked_from_conversation_id"] = m.ForkedFrom
	}
	if m.ForkedAt != "" {
		meta["forked_from_event_id"] = m.ForkedAt
	}
	return d.writeMeta(meta)
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
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("save conversation: %w", err)
		}
		d.meta[name] = data
	}
	return d.writeMeta(d.meta)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func (d *Dir) writeMeta(meta any) error {
	data, err := json.Marshal(meta)
	if err == nil && d.meta == nil {
		err = json.Unmarshal(data, &d.meta)
	}
	if err == nil {
		err = d.opts.Files.Write(filepath.Join(d.path, metaFile), data, false)
	}
	if err != nil {
		return fmt.Errorf("save conversation: %w", err)
	}
	return nil
}
