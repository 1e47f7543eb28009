package oldlinks

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// kinds are the kinds of objects in import_numbers, by the word before a number in the path of a page.
var kinds = map[string]string{
	"experiments": "experiment", "searches": "experiment", "trials": "trial", "runs": "trial", "projects": "project", "workspaces": "workspace", "models": "model", "webhooks": "webhook",
}

// maxParts is the number of parts of a path in which numbers are looked for.
const maxParts = 12

// here is the path of a page with the numbers and names that its objects have here.
func (l *Links) here(ctx context.Context, o old, path string) (string, error) {
	parts := strings.Split(path, "/")
	for i := 1; i < min(len(parts), maxParts); i++ {
		kind, known := kinds[parts[i-1]]
		if !known || parts[i] == "" {
			continue
		}
		number, err := strconv.ParseInt(parts[i], 10, 32)
		if err != nil {
			if kind == "model" { // the page of a model may have its name
				name, err := url.PathUnescape(parts[i])
				if err == nil {
					parts[i] = url.PathEscape(o.Prefix + name)
				}
			}
			continue
		}
		found, err := database.Scalars[int](ctx, l.db, `SELECT new FROM import_numbers WHERE import_id = $1 AND kind = $2 AND old = $3`, o.Import, kind, number)
		if err != nil {
			return "", err
		}
		if len(found) == 0 {
			return "", fault.New(fault.NotFound, "%s %d of the old cluster was not imported", kind, number)
		}
		parts[i] = strconv.Itoa(found[0])
	}
	return strings.Join(parts, "/"), nil
}
