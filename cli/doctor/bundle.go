package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/doctor"
	"github.com/ohgw/ohgw/setup/inspect"
)

// bundleJSON is a report for an issue.
type bundleJSON struct {
	Made      time.Time              `json:"made"`
	Build     buildinfo.Info         `json:"build"`
	Doctor    reportJSON             `json:"doctor"`
	Settings  []inspect.SettingState `json:"settings"`
	Variables []string               `json:"variables"` // that are set, by name
	Profiles  []inspect.ProfileState `json:"profiles"`
	Files     []inspect.FileState    `json:"files"`
}

// checkBundle looks at the name before the checks take their time.
func checkBundle(path string) error {
	if path == "" {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return &fault.Error{Msg: path + " exists already", Hint: "choose a file that does not exist", Code: fault.Conflict}
	}
	return nil
}

// writeBundle writes the report, for the user only.
func writeBundle(ctx context.Context, a *kit.App, path string, report reportJSON, p *inspect.Installation) error {
	doc := bundleJSON{
		Made: a.Now().UTC().Truncate(time.Second), Build: buildinfo.Get(), Doctor: report, Settings: []inspect.SettingState{},
		Variables: inspect.Variables(a.Setup()), Profiles: p.ProfilesIn(), Files: inspect.Files(a.Setup()),
	}
	if s, err := p.Settings(); err == nil {
		for _, f := range config.Fields() {
			doc.Settings = append(doc.Settings, inspect.SettingState{Key: f.Key, Value: f.Value(s.Config), Origin: s.Origin(f.Key).String()})
		}
		for _, f := range s.WorkspaceFields() {
			doc.Settings = append(doc.Settings, inspect.SettingState{Key: f.Name(), Value: f.Value(f.In(s)), Origin: s.File})
		}
	}
	text, err := doctor.Bundle(doc, inspect.Hidden(ctx, a.Setup()))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &fault.Error{Msg: path + " exists already", Hint: "choose a file that does not exist", Code: fault.Conflict}
	}
	if err == nil {
		_, err = f.Write(text)
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(path)) // half a report says wrong things
		}
	}
	if err != nil {
		return fault.New("the report cannot be written to "+path, "choose a file in a directory that you can write to, on a disk with free space", err)
	}
	a.Note("The report is in %s. Keys, user names and host names were removed. Read it before you publish it.", path)
	return nil
}
