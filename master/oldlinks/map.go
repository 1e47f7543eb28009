package oldlinks

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// kinds are the kinds of objects in import_numbers, by the word before a number in the path of a page.
var kinds = map[string]string{
	"experiments": "experiment", "searches": "experiment", "trials": "trial", "runs": "trial", "projects": "project", "workspaces": "workspace", "models": "model", "webhooks": "webhook",
}

// maxParts is the number of parts of a path in which numbers are looked for.
const maxParts = 12

// A named number is a number in a path, of an object of the old cluster.
type named struct {
	Kind string `db:"kind"`
	Old  int    `db:"old"`
}

// here is the path of a page with the numbers and names that its objects have here.
func (l *Links) here(ctx context.Context, o old, path string) (string, error) {
	parts := strings.Split(path, "/")
	numbers := map[int]named{} // by their places in the path
	var kindsOf []string
	var olds []int
	for i := 1; i < min(len(parts), maxParts); i++ {
		kind, known := kinds[parts[i-1]]
		if !known || parts[i] == "" {
			continue
		}
		number, err := strconv.ParseInt(parts[i], 10, 32)
		if err == nil {
			numbers[i] = named{kind, int(number)}
			kindsOf, olds = append(kindsOf, kind), append(olds, int(number))
			continue
		}
		if kind == "model" { // the page of a model may have its name
			if name, err := url.PathUnescape(parts[i]); err == nil {
				parts[i] = url.PathEscape(o.Prefix + name)
			}
		}
	}
	if len(numbers) == 0 {
		return strings.Join(parts, "/"), nil
	}
	type numbered struct {
		named
		New int `db:"new"`
	}
	found, err := database.Rows[numbered](ctx, l.db, `SELECT n.kind, n.old, n.new FROM import_numbers n WHERE n.import_id = $1 AND (n.kind, n.old) IN (SELECT * FROM unnest($2::text[], $3::int[]))`, o.Import, kindsOf, olds)
	if err != nil {
		return "", err
	}
	here := each.Keyed(found, func(n numbered) named { return n.named })
	for _, i := range slices.Sorted(maps.Keys(numbers)) {
		n := numbers[i]
		to, there := here[n]
		if !there {
			return "", fault.New(fault.NotFound, "%s %d of the old cluster was not imported", n.Kind, n.Old)
		}
		parts[i] = strconv.Itoa(to.New)
	}
	return strings.Join(parts, "/"), nil
}
