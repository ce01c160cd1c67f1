package config

import (
	"errors"
	"net/url"
	"strings"
)

// State is where several gateways that answer as one keep their state.
type State struct {
	URL  string // of a Postgres database, without a password; "" for the state directory
	File string // file with that URL, which may have a password; "" for none
	// Session is the URL of the same database for the one connection that must not go
	// through a pooler; "" for State.URL, SessionOff for none.
	Session string
}

// Shared reports whether the state is in a database.
func (s State) Shared() bool { return s.URL != "" || s.File != "" }

// SessionOff is the value of state_session for no session.
const SessionOff = "off"

// StateVariable is the variable with the URL of the database. The password in it, if
// there is one, is not part of the setting.
const StateVariable = "OHGW_STATE"

// stateFields are the settings of a shared state.
func stateFields() []Field {
	return []Field{
		{
			Flag: "state", Env: StateVariable, Key: "state", Arg: "URL", Section: StateSection,
			Help: "Postgres database that several gateways share, such as postgres://user@host/name; default: the state directory", check: checkState, public: withoutPassword,
			at: func(c *Config) any { return &c.State.URL },
		},
		{
			Env: "OHGW_STATE_FILE", Key: "state_file", Arg: "FILE", Section: StateSection,
			Help: "file with the URL of that database, readable only by you", path: true,
			at: func(c *Config) any { return &c.State.File },
		},
		{
			Env: "OHGW_STATE_SESSION", Key: "state_session", Arg: "URL|off", Section: StateSection,
			Help: "URL of the same database that does not go through a pooler, for the session that shows that a gateway lives; off detects a crash after 15 seconds", check: checkSession, public: withoutPassword,
			at: func(c *Config) any { return &c.State.Session },
		},
	}
}

// errDatabase is what a URL of a database should look like.
var errDatabase = errors.New("use a URL such as postgres://user@host/name")

// errPassword marks a value that must not be shown again.
var errPassword = saidSecret{"remove the password: set PGPASSFILE or PGPASSWORD, or put the whole URL into a private file and set state_file"}

// saidSecret is an errSecret with words of its own.
type saidSecret struct{ text string }

func (e saidSecret) Error() string        { return e.text }
func (e saidSecret) Is(target error) bool { return target == errSecret }

func checkState(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		if strings.Contains(s, "@") || strings.Contains(s, "password") {
			return "", saidSecret{errDatabase.Error()} // it may have one
		}
		return "", errDatabase
	}
	if _, has := u.User.Password(); has || u.Query().Has("password") {
		return "", errPassword
	}
	return s, nil
}

func checkSession(s string) (string, error) {
	if s == SessionOff {
		return s, nil
	}
	if _, err := checkState(s); err != nil {
		return "", err
	}
	return s, nil
}

// withoutPassword is the URL of a database without the password in it.
func withoutPassword(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return s
	}
	if _, has := u.User.Password(); has {
		u.User = url.User(u.User.Username())
	}
	if q := u.Query(); q.Has("password") {
		q.Del("password")
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// StateOrigin reports which of the settings names the database.
func (s *Settings) StateOrigin() Origin {
	if s.State.URL == "" {
		return s.Origin("state_file")
	}
	return s.Origin("state")
}
