package cloud

import "github.com/ohgw/ohgw/agentapi/cloud/account"

// steps turns the steps of a start into lines for a person, each once.
func steps(progress func(string)) func(account.Progress) {
	if progress == nil {
		return func(account.Progress) {}
	}
	last := ""
	return func(p account.Progress) {
		line := stepLine(p.State)
		if line == "" || line == last {
			return
		}
		last = line
		progress(line)
	}
}

// stepLine puts a state of a start task or of a sandbox in words; "" for one that
// says nothing new.
func stepLine(state string) string {
	switch state {
	case "WORKING":
		return "Starting a sandbox"
	case "WAITING_FOR_SANDBOX", "STARTING":
		return "Waiting for the sandbox"
	case "PAUSED":
		return "Waking the sandbox"
	case "PREPARING_REPOSITORY":
		return "Preparing the repository"
	case "RUNNING_SETUP_SCRIPT":
		return "Running the setup script"
	case "SETTING_UP_GIT_HOOKS":
		return "Setting up git hooks"
	case "SETTING_UP_SKILLS":
		return "Loading the skills"
	case "STARTING_CONVERSATION":
		return "Starting the agent"
	}
	return ""
}
