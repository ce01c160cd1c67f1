package inspect

import "github.com/ohgw/ohgw/setup/browsers"

// browserState finds the browser of agents.
func (p *Installation) browserState() (string, error) {
	s, err := p.Settings()
	if err != nil {
		return "", err
	}
	return browsers.Find(p.Env, s)
}
