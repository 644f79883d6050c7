"""Word lists for finding sentence ends: abbreviations with a period, words that open a sentence, negations.

Every entry is lower case and has no final period; inner periods stay (`e.g`). The lists are general knowledge (titles,
references, units, months, companies), never the vocabulary of one corpus.
"""

from __future__ import annotations

from quoth.language.words import word_set

NEVER_LAST = word_set("""
    e.g i.e eg ie cf viz vs v approx ca circa c.a esp incl excl resp aka a.k.a
    mr mrs ms messrs mme mlle dr prof rev hon sen rep gov gen col maj capt lt cmdr sgt cpl pvt adm fr supt pres
    subsp ssp subg var cv pv mt wm
    feat orig transl repr anon pseud
""")
"""Always goes on to what it qualifies, whatever stands next."""

BEFORE_A_NUMBER = word_set("""
    no nos nr fig figs tab tabs eq eqs eqn eqns ref refs vol vols p pp pg pgs ch chap chaps chs
    sec secs sect sects art arts para paras par pars cl cls reg regs subsec subpara sched app apps appx ex exh
    pt pts ser bk ed eds pl stat tbl lic inst nom cat acc
    bull bulls handb hdbk circ circs publ publs pub pubs suppl suppls supp supps rept repts rpt rpts monogr mem leafl
    contrib proc doc iss num nbr std stds spec cert pat appl sess cong ver vers illus diag encl stn sta expt exp
    subch subchs subsecs subparas subpt subd subdiv div sch append amend amends amdt amdts ord ordin ords resol tit cap
    col cols fol fols
    rs nrs ksh kshs tsh tshs ush ushs shs kr tk sfr dhs
    mins secs mths qtr qtrs ins yds ozs pts qts gals tsps tbs tbsps doz pkg pkgs pkt pkts pc pcs bbl bbls ctn ctns ltrs
    abb abs ann bd hft ziff
    temp max min avg ave med wt dia diam conc vel len st
    tel ph fax ext rm apt ste bldg blvd hwy rte u.s.c c.f.r
""")
"""Goes on when a number, a letter in parentheses or a roman numeral follows; otherwise it may be a last word."""

MAY_BE_LAST = word_set("""
    etc al inc ltd co corp llc llp lp plc gmbh pty bros assn assoc dept univ inst jr sr esq phd
    sp spp nov ined hort bot
    a.m p.m am pm b.c a.d b.c.e c.e
    st rd ave blvd ln ct sq hwy bldg
    est govt natl intl int adj adv misc tech sci agric agr res biol
    op cit loc ibid id seq
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri
    in ft yd mi ac sq cu oz lb lbs cwt bu pt qt gal fl tsp tbsp cal
    hr hrs wk wks mo mos yr yrs deg temp max avg wt dia diam vol conc qty amt
""")
"""Carries a period of its own, and may also end a sentence: what follows decides. SI units carry none."""

COMPANY_FORMS = word_set("inc ltd co corp llc llp lp plc gmbh pty bros l.p l.l.c l.l.p s.a n.v p.c p.a a.g s.p.a")

MONTHS = word_set("""
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    januar februar märz mai juni juli oktober dezember jänner
    janvier février mars avril juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    januari februari maart augustus maj avgust
""")

TIME_NAMES = word_set("""
    est edt cst cdt mst mdt pst pdt gmt utc cet cest bst eastern central mountain pacific
    monday tuesday wednesday thursday friday saturday sunday
""")
"""What goes on after `6 a.m.`: a zone or a day."""

SENTENCE_STARTERS = word_set("""
    the this these those that there then they their theirs it its he she his her hers we our ours you your i my
    a an all any another both each either every few fewer less many more most much neither no none one other
    several some such
    in on at by for from with within without to of as into under over after before during since until upon about
    above across against along among around because beside besides between beyond despite except through throughout
    if when whenever where wherever whereas while although though unless once whether who whom whose which what
    why how
    and but or nor so yet also however therefore thus hence moreover furthermore nevertheless nonetheless otherwise
    instead meanwhile finally first firstly second secondly third thirdly next last lastly later now today
    additionally similarly likewise consequently accordingly conversely alternatively generally typically usually
    overall indeed still only even not never always often sometimes according based given compared
    do does did is are was were be been has have had can could may might must shall should will would
    add allow apply avoid check consider ensure keep let make mix note place please remember remove repeat see use wait
    notwithstanding subject nothing provided pursuant hereby whereas neither
""")
"""Function words which, capitalised after a period, open a sentence rather than continue a name."""

NEGATIONS = word_set("""
    no not none nor neither never nothing nobody cannot can't don't doesn't won't mustn't shouldn't isn't aren't
    without unless except excepting exclude excludes excluded excluding exclusion exclusions
    avoid avoids refrain fail fails failure lack absence stop prevent prevents restrict restricted restrictions
    prohibit prohibits prohibited prohibition prohibitions forbid forbids forbidden ban bans banned barred illegal
    unlawful deny denies denied refuse refused disallowed exempt exempted exemption exemptions exception exceptions
""")
"""Words that can turn what they introduce into its opposite."""

SPEECH_VERBS = word_set("said says asked asks wrote writes replied replies added adds answered explained noted notes")
