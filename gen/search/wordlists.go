package search

import "strings"

// stopWords are words of questions and sentences that say nothing of what a tool does.
var stopWords = set(`
	a about all also am an and any are as at be been being but by can cant could did do does doesnt doing dont for from
	had has have having he her here hers him his how however i id if ill im in into is isnt it its ive just let lets like
	me might mine my myself need needs no nor not of off on one only onto or other our ours please shall she should so
	some such than that thats the their theirs them then there theres these they this those to too us very via want
	wants was wasnt we were what whats when where wheres whether which while who whom whose why will with within would
	you your yours youd
`)

// weakWords say something, but little: a question is rarely about them.
var weakWords = set(`
	another anyone anything anywhere around available back best big bring certain come current currently else every everyone
	everything exactly first follow full give given go going good great help instead keep kind know last lately later
	long look lot made make making many maybe mean moment more most much must new next now old once own part people possible put
	quick quickly really recent recently right same see several show simple somebody someone something somehow soon still
	straight sure take tell thing things think through today together tonight try trying two three up use used useful user using
	way ways well work working yet again down out over after before between under above each both few little
`)

// set makes a set of the words of text.
func set(text string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		out[w] = true
	}
	return out
}

// sameWords are spellings and short forms of one word, a group a line.
const sameWords = `
	repo repos repository
	db database
	dir directory folder
	doc docs document documentation
	pr prs pullrequest
	mr mrs mergerequest
	k8s kubernetes kube kubectl
	img image picture photo
	pic picture
	msg message
	env environment
	config configuration settings
	app application
	org organization organisation company
	auth authentication authorization
	param parameter
	lib library
	pkg package
	js javascript
	ts typescript
	md markdown
	xls xlsx excel spreadsheet
	ppt pptx powerpoint presentation slides
	docx word
	url link address
	web website site webpage
	email mail
	temp temporary
	info information details
	spec specification
	perf performance
	calc calculate
	stats statistics
	vm machine
	tz timezone
	gcal calendar
	postgres postgresql pg
	mongo mongodb
	es elastic elasticsearch
	lat latitude
	lon lng longitude
	qty quantity
	acct account
	tx transaction
	cmd command
	todo task
	colour color
	cancelled canceled
`

// likeWords are words that people and servers use for one another, a group a line: what tools do, and what they do it to.
const likeWords = `
	create add make new register insert open build generate
	create start launch provision spin set setup
	generate draw plot render produce
	delete remove erase drop destroy discard trash clear purge throw clean
	get read fetch retrieve show view display load obtain see inspect
	list show all enumerate browse
	get describe details info
	update edit change modify alter set adjust patch replace
	rename move
	search find look locate query lookup discover seek
	send post publish tell notify share announce deliver
	reply answer respond comment
	run execute start launch trigger invoke perform call
	rerun retry repeat again restart
	stop end terminate kill cancel abort halt shut quit pause
	close finish complete resolve end
	restart reboot reload
	copy duplicate clone fork
	download save export fetch
	save store write keep put
	upload import attach
	append add
	merge join combine unite land
	split divide cut break separate
	compare diff difference
	check validate verify test lint correct valid
	approve accept confirm sign review
	reject deny decline dismiss
	assign give delegate
	convert transform turn translate change
	extract pull parse scrape
	press click tap push
	type fill enter input write
	select choose pick option
	scroll wheel
	wait pause until
	capture take screenshot snapshot
	record log
	protect lock secure restrict permit
	allow permit enable grant access
	enable activate on
	disable deactivate off
	deploy release ship publish rollout
	rollback revert undo restore
	reset undo unstage
	backup snapshot dump restore
	schedule cron recurring
	monitor watch track observe
	increase scale grow
	summary overview abstract summarize short brief
	analyze analyse examine study investigate
	recommend suggest advice
	upgrade update
	install deploy
	uninstall remove
	remember memory store
	calculate compute evaluate work figure sum math
	add sum total plus
	issue bug ticket defect problem
	error failure fail exception warning problem crash
	version release tag
	latest newest recent last
	history log past
	commit change revision
	user person people member account
	member employee staff colleague team
	customer client buyer contact
	lead prospect
	bill invoice charge
	refund reimburse
	payment pay paid checkout
	subscription plan membership
	coupon discount voucher promo
	price cost fee rate pricing
	money balance funds cash
	quote offer estimate
	dispute chargeback
	tax vat
	company business organization firm
	share stock equity ticker
	dividend payout
	crypto bitcoin cryptocurrency coin ethereum
	currency money dollar euro exchange
	holiday leave vacation absence
	hours timesheet
	report statement
	channel room conversation
	chat message slack
	emoji reaction react
	notification alert inbox
	password secret credential key token
	leak expose
	vulnerability security hole vulnerable
	permission role access right
	log output console
	job task step
	pipeline build ci workflow
	artifact product output
	test spec check
	flaky intermittent
	server host machine
	container docker
	pod container
	replica instance copy
	node machine
	cluster kubernetes
	queue topic
	file document
	folder directory
	text content string
	line row
	row record entry
	column field
	table sheet
	schema structure definition
	cell value
	page tab
	page site
	browser chrome
	button element
	dropdown select
	popup dialog alert modal
	form field
	screenshot picture
	video recording screencast film
	audio sound speech voice aloud
	icon symbol logo
	chart graph plot diagram
	place location spot
	place poi restaurant shop business
	town city
	map maps
	route directions path way
	directions drive travel
	distance travel far
	coordinates latitude longitude geocode position
	height elevation altitude
	weather forecast climate rain temperature
	time clock hour
	date day
	article paper publication story
	subject topic category
	category kind type group
	news headline story
	trending popular hot top
	movie film
	recipe cook meal dish food
	lodging stay hotel accommodation rental flat
	listing apartment flat
	insider executive director officer
	trade trading sell buy
	graph network
	relation link connection relationship
	fact observation
	entity node
	score rating points
	size big large bytes
	metadata properties attributes
	dependency dependencies requirement
	library package module
	alternative similar replacement
	license licence
	snippet gist
	star favorite favourite like bookmark
	branch line
	blame author wrote authorship
	stash shelve aside
	outage incident health status
	slow performance latency speed
	memory heap ram
	cpu load usage
	phone mobile device sms
	namespace project
	proportion part percentage share
	trend time series
	hierarchy organization tree
	game match
	component widget
	code source
	example sample
	question problem
	calendar event meeting appointment
	attendee participant guest invitee
	child sub subordinate nested part
	fear afraid scared worried anxious
	reminder alarm
	deal opportunity
	storage bucket blob object
	function lambda serverless
	alarm alert
	metric measurement statistics
	collection table
	certificate ssl tls
	dns domain
	transcribe transcript captions subtitles
	translate language
	parcel shipment delivery tracking
	flight plane
	comment note remark
	label tag
	milestone deadline due
	sprint iteration
	contributor author developer maintainer
	popularity downloads trends
	deprecated outdated obsolete
	manifest yaml
	terminal shell bash exec
	tunnel forward port
	drain cordon evict maintenance
	quota limit
	firewall network ip
	vault secret keyvault
	profit income earnings revenue loss
	assets liabilities balance
	payroll salary wages
	supplier vendor
	outstanding overdue unpaid receivable payable debt owe
	journal ledger bookkeeping accounting
	switch select checkout context
	localhost local
	frequency often occurrence
	inside contents contain
	advisory cve dependabot vulnerability
	usual typical average normal
	conflict clash collision
	unused underused idle waste
	encryption encrypted sealed
	preview thumbnail
	crop resize
	duplicate similar
	owner holder
	subscriber follower
	feedback rating opinion
	layout design template
	theme style
	animation animated effect
	sort order rank
	filter condition
	page paginate
	count number
	limit maximum
	first top
	average mean
	rise growth
	region area district
	neighbour near close nearest
`

// impliedWords are narrower words, and after the arrow what tools say of that.
const impliedWords = `
	rain snow sunny temperature wind humidity > weather forecast
	dinner lunch breakfast > recipe food restaurant
	restaurant cafe hotel pharmacy > place local
	html css > page
	cookie tab > browser
	spreadsheet > sheet
	npm > package
	pip pypi > package
	maven gradle java > maven dependency
	react vue > component
	euro dollar yen pound > currency exchange
	tweet > post
	wikipedia encyclopedia > article wikipedia
	museum painting sculpture artwork > museum object art
	grep ripgrep > search text
	terminal shell bash > command process
	salesforce hubspot > crm record
	opportunity lead contact deal > record
	median mean average deviation > statistics
	interest formula percent > calculate evaluate expression
`

// phrases are words that mean something else together, and after the arrow what tools say of that.
const phrases = `
	pull request > pr
	merge request > mr
	get rid > delete remove
	throw away > delete remove
	look up > search get
	shut down > stop terminate
	kick off > run trigger start
	spin up > create
	set up > create setup configure
	log in > login authentication
	logged in > me whoami login
	sign up > register authentication
	tick off > done complete mark
	put aside > stash
	money back > refund
	sea level > elevation
	go back > back previous
	step by step > sequential
	mind map > mindmap
	blob storage > storage blob
	read me > readme
	phone number > phone
	text message > sms
	knowledge graph > entities relations
	to do > todo task
	who am i > whoami me
	web page > webpage url
	how many > count
	how much > price amount
	drop down > dropdown select
	roll back > rollback
	is down > health outage status
	google for > search web
	google something > search web
	file system > filesystem
`
