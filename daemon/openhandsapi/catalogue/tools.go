package catalogue

import (
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// tool is a tool in a list of which a user chooses those of an agent.
type tool struct {
	Name        string `json:"name"`
	Selectable  bool   `json:"user_selectable"`
	Usable      bool   `json:"usable"`
	Description string `json:"description"`
	// Default: an agent without a choice of tools has it.
	Default bool `json:"in_default_set"`
}

// offered are the tools that OpenHands lets users choose. Others belong to agents of a
// certain kind.
func offered() []tool {
	return []tool{
		{Name: "file_editor", Default: true, Description: "Look at files, create them and change them."},
		{Name: "glob", Description: "Find files by patterns of their names."},
		{Name: "grep", Description: "Find lines of files by regular expressions."},
		{Name: "task_tool_set", Description: "Give parts of the work to sub-agents."},
		{Name: "task_tracker", Default: true, Description: "Keep a list of what is to be done."},
		{Name: "terminal", Default: true, Description: "Run commands in a shell that stays open."},
	}
}

func (s *server) toolCatalogue(w http.ResponseWriter, _ *http.Request) error {
	list := make([]tool, 0, len(s.Tools))
	for _, name := range s.Tools {
		t := tool{Name: name}
		for _, known := range offered() {
			if known.Name == name {
				t = known
				t.Selectable = true
			}
		}
		t.Usable = true
		list = append(list, t)
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"tools": list})
	return nil
}
