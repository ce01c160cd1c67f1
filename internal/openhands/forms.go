package openhands

import (
	_ "embed"
	"encoding/json"
)

//go:embed forms.json
var formsFile []byte

// Form is what a form of settings has.
type Form struct {
	Model    string        `json:"model_name"`
	Sections []FormSection `json:"sections"`
}

// FormSection is a part of a form. Variant is the kind of agent that it is for; nil for
// all.
type FormSection struct {
	Key     string      `json:"key"`
	Label   string      `json:"label"`
	Fields  []FormField `json:"fields"`
	Variant *string     `json:"variant"`
}

// FormField is a member of the settings. Key is its path.
type FormField struct {
	Key          string          `json:"key"`
	Label        string          `json:"label"`
	Description  *string         `json:"description"`
	Section      string          `json:"section"`
	SectionLabel string          `json:"section_label"`
	Type         string          `json:"value_type"`
	Default      json.RawMessage `json:"default"`
	Prominence   string          `json:"prominence"` // critical, major or minor
	DependsOn    []string        `json:"depends_on"`
	Secret       bool            `json:"secret"`
	Choices      []FormChoice    `json:"choices"`
	Variant      *string         `json:"variant"`
}

// FormChoice is a value of a field.
type FormChoice struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// Forms are those of agent_settings and of conversation_settings.
func Forms() (agent, conversation Form) {
	var file struct {
		Agent        storedForm `json:"agent"`
		Conversation storedForm `json:"conversation"`
	}
	if err := json.Unmarshal(formsFile, &file); err != nil {
		panic("embedded forms: " + err.Error()) // a test reads them
	}
	return file.Agent.form(), file.Conversation.form()
}

// storedForm is a form without what follows from the rest of it.
type storedForm struct {
	Model    string `json:"model_name"`
	Sections []struct {
		FormSection

		Fields []struct {
			FormField

			Choices []string `json:"choices"`
		} `json:"fields"`
	} `json:"sections"`
}

func (s storedForm) form() Form {
	out := Form{Model: s.Model}
	for _, stored := range s.Sections {
		section := stored.FormSection
		section.Fields = []FormField{}
		for _, f := range stored.Fields {
			field := f.FormField
			field.Choices = []FormChoice{}
			for _, word := range f.Choices {
				field.Choices = append(field.Choices, FormChoice{word, word})
			}
			section.Fields = append(section.Fields, field)
		}
		for i := range section.Fields {
			section.Fields[i].complete(section)
		}
		out.Sections = append(out.Sections, section)
	}
	return out
}

// complete says of a field what its section does.
func (f *FormField) complete(s FormSection) {
	f.Section, f.SectionLabel = s.Key, s.Label
	if f.Variant == nil {
		f.Variant = s.Variant
	}
	if f.Prominence == "" {
		f.Prominence = "minor"
	}
	if f.DependsOn == nil {
		f.DependsOn = []string{}
	}
	if f.Default == nil {
		f.Default = json.RawMessage("null")
	}
}
