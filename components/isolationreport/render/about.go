// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	_ "embed"
	"encoding/json"
)

// about is the text of docs/attacks.md about one attack.
type about struct {
	Source string `json:"source"`
	// Effect is what happens without Bulkhead. Stops is what prevents it.
	Effect string `json:"effect"`
	Stops  string `json:"stops"`
}

// attacksFile is generated from e2e/attacks by `make update`.
//
//go:embed attacks.json
var attacksFile []byte

// abouts are the texts by the number of the attack. An attack without a number, or of other suites, has none.
var abouts = func() (texts map[string]about) {
	if err := json.Unmarshal(attacksFile, &texts); err != nil {
		panic("attacks.json: " + err.Error()) // the file is a part of the program
	}
	return texts
}()
