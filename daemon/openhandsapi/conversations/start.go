package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/message"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/internal/workdir"
)

// request is what a client asks for when it starts a conversation.
type request struct {
	control.Start

	agentProfile string // its id; "" if none
	llm          string // an LLM profile in place of the agent profile's; "" if none
	encrypted    bool   // secrets may be
	worktree     bool
	isNew        bool             // its directory was made for it, with a repository
	first        *control.Message // starts a run; nil: none does
}

// start makes a conversation, or tells of the one that has the id already.
func (s *server) start(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	req, err := readRequest(o)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if req.ID != "" {
		// One create after the other: a second one makes no worktree of its own.
		done, err := s.creates.Take(ctx, req.ID)
		if err != nil {
			return err
		}
		defer done()
		record, err := s.Engine.Record(ctx, req.ID)
		if !errors.Is(err, agentapi.ErrConversationNotFound) {
			if err != nil {
				return err
			}
			return s.writeInfo(w, r, http.StatusOK, record)
		}
	} else {
		req.ID = uuid.New()
	}
	if err := s.complete(ctx, &req); err != nil {
		return err
	}
	c, created, err := s.begin(ctx, &req)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // The conversation stays; only its handle goes.
	if created && req.first != nil {
		if err := c.Append(ctx, *req.first, true); err != nil {
			return err
		}
	}
	record, err := c.Record(ctx)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return s.writeInfo(w, r, status, record)
}

// begin has the engine make the conversation, and its directory as soon as the engine
// finds nothing to refuse.
func (s *server) begin(ctx context.Context, req *request) (control.Conversation, bool, error) {
	var unplaced error
	req.Prepare = func(ctx context.Context, start *control.Start) error {
		unplaced = s.place(ctx, req, start)
		return unplaced
	}
	c, created, err := s.Engine.Start(ctx, req.Start)
	if err != nil && req.isNew {
		unmake(req.Workspace)
	}
	switch {
	case unplaced != nil:
		return nil, false, unplaced // in the form of this API
	case errors.Is(err, control.ErrParent):
		return nil, false, &wire.Error{Status: http.StatusUnprocessableEntity, Detail: strings.TrimSuffix(agentapi.PublicMessage(err, ""), "."), Err: err}
	}
	return c, created, err
}

// complete finds what the request only names: its agent profile and its secrets.
func (s *server) complete(ctx context.Context, req *request) error {
	if req.agentProfile != "" {
		if err := s.launch(ctx, req); err != nil {
			return err
		}
	}
	if req.encrypted {
		if err := s.unsealAll(req); err != nil {
			return err
		}
	}
	if !filepath.IsAbs(req.Workspace) {
		req.Workspace = filepath.Join(s.Dir, req.Workspace)
	}
	return nil
}

// place makes the directory of a conversation: a new one is a repository, and in one of a
// repository there may be a worktree for it.
func (s *server) place(ctx context.Context, req *request, start *control.Start) error {
	isNew, err := makeWorkspace(req.Workspace)
	if err != nil {
		refused := pydantic.Value("the directory cannot be made").At([]any{"body", "workspace", "working_dir"}, req.Workspace)
		return &pydantic.Error{Err: err, Faults: []pydantic.Fault{refused}}
	}
	switch repository := workdir.Repository(req.Workspace) != ""; {
	case isNew && !repository:
		req.isNew = true
		if err := initRepository(req.Workspace); err != nil {
			s.Logger.WarnContext(ctx, "the new directory of a conversation has no repository", "directory", req.Workspace, "err", err)
		}
		return nil
	case !req.worktree || !repository:
		return nil
	}
	if s.Worktree == nil {
		const why = "this server makes no git worktrees; choose to work in the repository itself (\"worktree\": false)"
		return pydantic.Refuse(pydantic.Value(why).At([]any{"body", "worktree"}, true))
	}
	made, err := s.Worktree(ctx, start.ID, start.Workspace)
	if err != nil {
		return err
	}
	if made.Root != "" {
		start.Suffix = strings.TrimSpace(start.Suffix + "\n\n" + guidance(made, start.Workspace))
	}
	start.Workspace = made.Dir
	return nil
}

// guidance tells the agent of its worktree.
func guidance(made Worktree, source string) string {
	return "You work in a git worktree that was made for this conversation alone.\n" +
		"- Your working directory: " + made.Dir + "\n- The worktree: " + made.Root + "\n- Its branch: " + made.Branch +
		"\n- The user's own directory, which you leave as it is: " + source +
		"\nChange files and commit in the worktree only, on a new branch with a name for the task that begins at the default branch."
}

// ignoredMember is ohgw's own: the members of an agent profile that have no effect. It is
// there only where some have none.
const ignoredMember = "ignored_members"

// launch takes the agent of an agent profile.
func (s *server) launch(ctx context.Context, req *request) error {
	unknown := wire.Refuse(http.StatusNotFound, "Agent profile with id '%s' not found", req.agentProfile)
	if s.Profiles == nil {
		return unknown
	}
	p, err := s.Profiles.AgentProfile(ctx, req.agentProfile, req.llm)
	if err != nil {
		if errors.Is(err, agentapi.ErrProfileNotFound) && agentapi.PublicMessage(err, "") == "" {
			return unknown
		}
		return err
	}
	req.Settings, req.Profile = p.Settings, p.LLM
	maps.DeleteFunc(req.Secrets, func(name string, _ json.RawMessage) bool {
		return p.Secrets != nil && !slices.Contains(*p.Secrets, name)
	})
	kept := map[string]json.RawMessage{}
	if err := json.Unmarshal(req.Request, &kept); err != nil {
		return err
	}
	from := map[string]any{"agent_profile_id": p.ID, "revision": p.Revision, "secret_refs": p.Secrets, "llm_profile_ref": nil}
	if req.llm != "" {
		from["llm_profile_ref"] = req.llm
	}
	if len(p.Ignored) > 0 {
		from[ignoredMember] = p.Ignored
		s.Logger.WarnContext(ctx, "the embedded agent ignores members of the agent profile", "agent_profile", p.ID, "members", p.Ignored)
	}
	kept["launched_agent_profile"] = encoded(from)
	req.Request = encoded(kept)
	return nil
}

// unsealAll decrypts the secrets of a request that says that they are encrypted.
func (s *server) unsealAll(req *request) (err error) {
	if req.Agent, err = s.unsealed(req.Agent); err != nil {
		return err
	}
	if req.Settings, err = s.unsealed(req.Settings); err != nil {
		return err
	}
	for name, source := range req.Secrets {
		if req.Secrets[name], err = s.unsealed(source); err != nil {
			return err
		}
	}
	return nil
}

func readRequest(o *pydantic.Object) (request, error) {
	var req request
	if err := bothAgents(o); err != nil {
		return req, err
	}
	readAgent(o, &req)
	o.Need("workspace")
	if in := o.Object("workspace"); in != nil {
		in.Choice("kind", "LocalWorkspace", pydantic.Literal, "LocalWorkspace")
		if in.Need("working_dir") {
			req.Workspace = in.String("working_dir", "")
		}
	}
	req.worktree, req.encrypted = o.Bool("worktree", false), o.Bool("secrets_encrypted", false)
	req.ID, req.Parent = o.ID("conversation_id"), o.ID("parent_conversation_id")
	if req.Hooks = o.Raw("hook_config"); req.Hooks != nil {
		if _, err := hookfile.Parse(req.Hooks); err != nil {
			o.Value("hook_config", err.Error())
		}
	}
	req.Policy, req.Analyzer = readPolicy(o, "confirmation_policy"), readAnalyzer(o, "security_analyzer")
	req.MaxIterations, req.NoStuck = o.Int("max_iterations", 0, pydantic.AtLeast(1)), !o.Bool("stuck_detection", true)
	req.Plugins = readPlugins(o)
	req.Secrets, req.Tags = readSecrets(o, false), readTags(o)
	req.Title = o.Bool("autotitle", true)
	if in := o.Object("initial_message"); in != nil {
		m := message.Read(in)
		req.first = &m
	}
	readAdditions(o, &req)
	clientTools(o)
	readRest(o)
	if err := noAgent(o, &req); err != nil {
		return req, err
	}
	if err := localOnly(o); err != nil {
		return req, err
	}
	req.Request = withoutSecrets(o)
	return req, uniqueTools(o)
}

// readAdditions reads what a launch has besides its agent or its agent profile.
func readAdditions(o *pydantic.Object, req *request) {
	in := o.Object("agent_launch_additions")
	if in == nil {
		return
	}
	in.Only("system_message_suffix_append", "skills", "llm_profile_ref")
	if suffix := in.Text("system_message_suffix_append", 0, maxSuffix); suffix != nil {
		req.Suffix = *suffix
	}
	req.Skills = readSkills(in, "skills")
	if llm := in.Text("llm_profile_ref", 1, -1); llm != nil {
		req.llm = *llm
	}
}

// maxSuffix is the highest number of characters that are added to a system message.
const maxSuffix = 32768

// withoutSecrets encodes the request without what may hold a secret: the agent, the
// skills of the launch, and the secrets. The engine chooses what it stores of the rest.
func withoutSecrets(o *pydantic.Object) json.RawMessage {
	members := make(map[string]json.RawMessage)
	for _, name := range o.Names() {
		switch name {
		case "agent", "agent_settings", "secrets":
		case "agent_launch_additions":
			if in := o.Object(name); in != nil {
				members[name] = in.Without("skills")
			}
		default:
			members[name] = o.Raw(name)
		}
	}
	return encoded(members)
}
