package search

// formWords are forms of one word that stemming does not bring together, a group a line.
const formWords = `
	send sent
	write wrote written
	run ran
	make made
	build built
	show shown
	sell sold
	buy bought
	pay paid
	keep kept
	choose chose chosen
	spend spent
	draw drew drawn
	break broke broken
	speak spoke spoken
	hide hid hidden
	throw threw thrown
	forget forgot forgotten
	freeze froze frozen
	hold held
	lose lost
	meet met
	convert conversion
	describe description
	subscribe subscription
	transcribe transcription transcript
	analyze analyse analysis
	compare comparison
	permit permission
	delete deletion
	create creation
	divide division
	decide decision
	explain explanation
	expand expansion
	fail failure
	choose choice
	translate translation
	modify modification
	verify verification
	specify specification
	grow growth
	child children
	index indices indexes
	vertex vertices
	matrix matrices
	criterion criteria
	datum data
	quote quotation
	greed greedy
	owe owed owing
	leave left
	catch caught
	find found
	give gave given
	take took taken
	begin began begun
	steal stole stolen
	authorize authorization
	invite invitation
	resolve resolution
	revise revision
	reserve reservation
	simplify simplification
	notify notification
	classify classification
	compress compression
	encrypt encryption
	publish publication
	reduce reduction
	remind reminder
	remove removal
	approve approval
	renew renewal
	withdraw withdrawal withdrew
	arrive arrival
	weigh weight
	long length
	wide width
	high height
	deep depth
	strong strength
	die died death
`
