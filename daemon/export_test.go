package daemon

// Routes are the methods and paths of all routes.
func (d *Daemon) Routes() (list []string) {
	for _, route := range d.table() {
		for _, method := range route.methods {
			list = append(list, method+" "+route.path)
		}
	}
	return list
}

// Summaries are the summaries of all routes, by path.
func (d *Daemon) Summaries() map[string]string {
	all := make(map[string]string)
	for _, route := range d.table() {
		all[route.path] = route.summary
	}
	return all
}
