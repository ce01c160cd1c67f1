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
