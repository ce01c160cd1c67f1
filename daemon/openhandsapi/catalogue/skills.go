package catalogue

import (
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// skillInfo is a skill in OpenHands' form.
type skillInfo struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"` // repo, knowledge or agentskills
	Content  string   `json:"content"`
	Triggers []string `json:"triggers"`
	Source   *string  `json:"source"`
	// Description is null where there is none.
	Description *string `json:"description"`
	Directory   bool    `json:"is_agentskills_format"`
	Hidden      bool    `json:"disable_model_invocation"`
}

// skills lists the skills of the user and of a project. Those that OpenHands fetches
// from the network, or from an organization, are not there: their numbers are 0.
func (s *server) skills(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	o.Bool("load_public", true)
	user, project := o.Bool("load_user", true), o.Bool("load_project", true)
	o.Bool("load_org", true)
	o.Text("marketplace_path", 0, -1)
	o.NotNull("registered_marketplaces", pydantic.NoList())
	o.List("registered_marketplaces")
	dir := projectDir(o, project)
	o.List("org_configs")
	o.Object("sandbox_config")
	if err := o.Err(); err != nil {
		return err
	}
	list, sources := []skillInfo{}, map[string]int{"sandbox": 0, "registered_marketplaces": 0, "sdk_base": 0, "org": 0, "project": 0}
	for _, skill := range s.Skills(dir, user) {
		list = append(list, infoOf(skill))
		if skill.Own {
			sources["sdk_base"]++ // OpenHands counts the user's there
		} else {
			sources["project"]++
		}
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"skills": list, "sources": sources})
	return nil
}

// skillCatalogue lists the skills of the user, of which an agent profile chooses. Those
// that OpenHands publishes are not here.
func (s *server) skillCatalogue(w http.ResponseWriter, _ *http.Request) error {
	type entry struct {
		skillInfo

		Origin string `json:"origin"`
	}
	list := []entry{}
	for _, skill := range s.Skills("", true) {
		if skill.Own {
			list = append(list, entry{infoOf(skill), "user"})
		}
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"skills": list})
	return nil
}

func infoOf(s Skill) skillInfo {
	info := skillInfo{Name: s.Name, Type: "knowledge", Content: s.Content, Triggers: s.Triggers, Directory: s.Directory, Hidden: s.Hidden}
	switch {
	case s.Directory:
		info.Type = "agentskills"
	case s.Always:
		info.Type = "repo"
	}
	if info.Triggers == nil {
		info.Triggers = []string{}
	}
	if s.Source != "" {
		info.Source = &s.Source
	}
	if s.Description != "" {
		info.Description = &s.Description
	}
	return info
}
