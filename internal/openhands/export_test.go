package openhands

import "strings"

// ListedModels are the names that are listed beside the verified ones.
func ListedModels() []string { return strings.Fields(moreModels) }
