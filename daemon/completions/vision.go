package completions

import "github.com/ohgw/ohgw/agentapi"

// sight reports whether a model is shown images.
type sight int

// What can be known of a model's sight.
const (
	sightUnknown sight = iota
	seeing
	blind
)

// sees reports whether a model, named as in a profile, is shown images.
func (api *API) sees(model string) sight {
	if api.Sees == nil {
		return sightUnknown
	}
	sees, known := api.Sees(model)
	switch {
	case !known:
		return sightUnknown
	case sees:
		return seeing
	}
	return blind
}

// imageNote is shown to the user when images were sent to a model that
// cannot see them; empty otherwise.
func (api *API) imageNote(c *Call, profile agentapi.Profile) string {
	if len(c.Images) == 0 || api.sees(profile.Model) != blind {
		return ""
	}
	return "The model " + profile.Model + " cannot see images, so the images were left out. Choose a model that can see images, or describe them."
}
