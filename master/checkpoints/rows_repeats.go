package checkpoints

import "encoding/json"

// repeatPlaces is SQL that joins trials t with the place of their configuration among those that the search of an experiment has trained again
// (searcher.repeat), 1 for the best; NULL for other trials, and until all repeats have ended. Checkpoints of the best configuration are the best
// ones, although a single result of another one may be better.
func repeatPlaces(experiment string) string {
	return ` LEFT JOIN (SELECT n.value::int AS number, min(r.place) AS place FROM experiments x
		CROSS JOIN LATERAL json_array_elements(x.outlook->'repeats'->'list') WITH ORDINALITY r(value, place)
		CROSS JOIN LATERAL json_array_elements_text(r.value->'trials') n(value)
		WHERE x.id = ` + experiment + ` AND (x.outlook->'repeats'->>'decided')::boolean GROUP BY 1) rp ON rp.number = t.number`
}

// repeats reports whether a stored configuration has searcher.repeat.
func repeats(config []byte) bool {
	var c struct {
		Searcher struct {
			Repeat json.RawMessage `json:"repeat"`
		} `json:"searcher"`
	}
	return json.Unmarshal(config, &c) == nil && len(c.Searcher.Repeat) > 0 && string(c.Searcher.Repeat) != "null"
}
