package pool

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
)

// agreement is what the profiles of a pool are.
type agreement struct {
	list []agentapi.Profile
	// differs are the profiles of each member that are not as at the others: missing,
	// there alone, or with another model or base URL.
	differs map[string][]string
}

// answer is the profiles of one member.
type answer struct {
	member   string
	profiles []agentapi.Profile
}

// variant is what members must agree on. The zero one: there is no such profile.
type variant struct{ name, model, base, agent string }

func variantOf(p agentapi.Profile) variant { return variant{p.Name, p.Model, p.BaseURL, p.Agent} }

// agree finds what most members have; where that is a tie, the earlier ones decide.
func agree(answers []answer) agreement {
	a := agreement{differs: make(map[string][]string)}
	var names []string
	for _, from := range answers {
		for _, p := range from.profiles {
			names = add(names, p.Name)
		}
	}
	slices.Sort(names)
	active := most(answers, func(from answer) string {
		i := slices.IndexFunc(from.profiles, func(p agentapi.Profile) bool { return p.Active })
		if i < 0 {
			return ""
		}
		return from.profiles[i].Name
	})
	for _, name := range names {
		want := most(answers, func(from answer) variant { return variantOf(from.profile(name)) })
		var same []answer
		for _, from := range answers {
			if variantOf(from.profile(name)) != want {
				a.differs[from.member] = append(a.differs[from.member], name)
				continue
			}
			same = append(same, from)
		}
		if want == (variant{}) {
			continue
		}
		p := same[0].profile(name)
		p.Active = name == active
		p.Revision = most(same, func(from answer) string { return from.profile(name).Revision })
		a.list = append(a.list, p)
	}
	slices.SortFunc(a.list, func(p, q agentapi.Profile) int { return cmp.Compare(p.Name, q.Name) })
	return a
}

// profile is the one of a name; the zero one if there is not one.
func (a answer) profile(name string) agentapi.Profile {
	i := slices.IndexFunc(a.profiles, func(p agentapi.Profile) bool { return p.Name == name })
	if i < 0 {
		return agentapi.Profile{}
	}
	return a.profiles[i]
}

// most is the value that most members have; the first of those in a tie.
func most[T comparable](answers []answer, of func(answer) T) (best T) {
	counts := make(map[T]int)
	for _, from := range answers {
		counts[of(from)]++
	}
	n := 0
	for _, from := range answers {
		if v := of(from); counts[v] > n {
			best, n = v, counts[v]
		}
	}
	return best
}

// named is the agreed profile of a name.
func (a agreement) named(name string) (agentapi.Profile, bool) {
	i := slices.IndexFunc(a.list, func(p agentapi.Profile) bool { return p.Name == name })
	if i < 0 {
		return agentapi.Profile{}, false
	}
	return a.list[i], true
}

// merge puts the answers of the members together, and tells the log of those that
// differ, once for each change.
func (b *Backend) merge() {
	b.putting.Lock()
	defer b.putting.Unlock()
	var answers []answer
	for _, m := range b.all() {
		if profiles, ok := m.profiles(); ok {
			answers = append(answers, answer{m.name, profiles})
		}
	}
	now := agree(answers)
	b.mu.Lock()
	before := b.agreed.differs
	b.agreed = now
	b.mu.Unlock()
	for _, from := range answers {
		what := strings.Join(now.differs[from.member], ", ")
		switch what {
		case strings.Join(before[from.member], ", "):
		case "":
			b.cfg.Logger.Info("the profiles of an agent-server agree with the others' again", "server", from.member)
		default:
			b.cfg.Logger.Warn("profiles of an agent-server differ from the others'; it gets no new conversations for them", "server", from.member, "profiles", what)
		}
	}
}
