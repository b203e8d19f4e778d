import { atConsole, suspendedNow } from '../support/at-console.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { CTRL_C } from '../support/terminal.ts'

/** What a person has at the console of what an error has suspended, in a real Python. */
const test = suite('the debugger at the console', { limitMs: 60_000 })

test('frames of an error are looked at and evaluated in, code runs again once mended, and its calls are taken down', () =>
  atConsole(async ({ screen, enter }) => {
    await enter('def half(x): return 10 / x\r')
    await enter('half(0)')
    assert.match(screen.text(), /ZeroDivisionError: division by zero\nframes kept as s1@\w+ · :debug shows/)
    await enter(':debug')
    await screen.shows(/0: \[RETRY\] Run the same code again/)
    await screen.shows(/^> 0: File .*, in half$/m)
    await enter(':frame')
    await screen.shows(/^ {2}x \(argument\) = 0$/m)
    await enter(':up')
    await screen.shows(/^1: File .*in <module>$/m)
    await enter(':down')
    await enter(':down')
    await screen.shows('That is the innermost frame.')
    await enter(':in x + 41')
    await screen.shows(/^41$/m)
    await enter(':in nonsense')
    await screen.shows("NameError: name 'nonsense' is not defined")
    await enter(':in x + 42')
    await screen.shows(/^42$/m)
    await enter('def half(x): return "mended"\r')
    await enter(':resume retry')
    await screen.shows(/:resume retry\n'mended'\n>>>$/)
    await enter(':resume retry')
    await screen.shows('Nothing of this console is suspended.')
    // The next calls of a function are taken down, and no more once the tracepoint is removed.
    await enter('def half(x): return x / 2\r')
    await enter(':trace')
    await screen.shows('Of which function? :trace NAME [COUNT]')
    await enter(':trace half 3')
    const [, id = ''] = /^(t1@\w+) __main__\.half: on, 0 calls of 3 /m.exec(screen.text()) ?? []
    assert.is.not(id, '', screen.text())
    const shown = async (command: string) => {
      await enter(command)
      return screen.text().split(`>>> ${command}\n`).at(-1) ?? ''
    }
    await enter('half(84)')
    assert.match(await shown(':calls'), new RegExp(`^${id} __main__\\.half: on, 1 call of 3 `))
    assert.match(await shown(`:calls ${id}`), /^#1 __main__\.half\(x=84\) → 42\.0, /m)
    assert.match(await shown(':untrace t1'), new RegExp(`^${id} __main__\\.half: removed, 1 call of 3 `))
    await enter('half(86)')
    const after = await shown(`:calls ${id}`)
    assert.match(after, /: removed, 1 call of 3 /)
    assert.match(after, /^#1 __main__\.half\(x=84\)/m)
    assert.not.match(after, /x=86/)
  }))

test('code whose stack is held waits at the raise: its restarts are numbered, the prompt says so, a number takes one', () =>
  atConsole(async ({ screen, enter, rig }) => {
    await enter('def half(x): return 10 / x\r')
    await enter(':hold half(0)', '[1] >>>')
    await screen.shows(/^ {2}0: \[CONTINUE\] /m)
    await screen.shows(/^suspended as s1@\w+ · :0 takes restart 0, /m)
    await enter('6 * 7', '[1] >>>')
    await screen.shows(/^42$/m)
    await enter('1', '[1] >>>')
    assert.equal(await suspendedNow(rig), [1])
    await enter(':restart 0', '[1] >>>')
    await screen.shows('There is no kernel 0. :resume 0 takes a restart of that name or number.')
    screen.type(':resume \t')
    await screen.shows(/^continue +retry +abort/im)
    screen.type(CTRL_C)
    await enter(':0')
    assert.match(screen.text().split(':0\n').at(-1) ?? '', 'ZeroDivisionError')
    assert.equal(await suspendedNow(rig), [0])
    await enter(':hold half(0)', '[1] >>>')
    await enter(':leave')
    assert.equal(await suspendedNow(rig), [0])
  }))

test('where several are suspended, each answer says which was meant, and what is left, which is the newest now', () =>
  atConsole(async ({ rig, screen, enter }) => {
    await enter('def half(x): return 10 / x\r')
    await enter(':hold half(0)', '[1] >>>')
    const [, held = ''] = /^suspended as (s1@\w+) · /m.exec(screen.text()) ?? []
    await enter('1 / 0', '[1] >>>')
    await screen.shows(/frames kept as s2@\w+ · .*\n?.*:leave\s+drops them. Commands are about it now/)
    await enter(':leave', '[1] >>>')
    await screen.shows(new RegExp(`^s2@\\w+ was given up\\. ${held} is the newest now\\.$`, 'm'))
    await enter(':hold await __import__("asyncio").sleep(half(0))', '[1] >>>')
    await screen.shows('It could not be held alive at the raise')
    await enter(':debug s1', '[1] >>>')
    await enter(':in x + 41', '[1] >>>')
    await screen.shows(new RegExp(`^${held}, frame 0:\n41$`, 'm'))
    await enter(':debug 0 30', '[1] >>>')
    await screen.shows('It is :debug [ID] [FROM]')
    await enter(':in 9 x', '[1] >>>')
    await screen.shows('Nothing was run. :frame 9 turns to that frame')
    await enter(':continue', '[1] >>>')
    await screen.shows(/A restart is\s+taken by :resume NAME\./)
    await enter(':leave all')
    await enter(':leave all')
    await screen.shows('Nothing of this console is suspended here.')
    // Of errors at the prompt the frames of the last few are kept, and an exit keeps none.
    for (let number = 0; number < 5; number++) await enter(`1 / 0 # ${number}`)
    await until(async () => (await suspendedNow(rig))[0] === 3, 'three to be kept')
    screen.type('exit()\r')
    assert.is(await screen.ended, 0)
    assert.not.match(screen.text(), 'Given up, with')
    assert.equal(await suspendedNow(rig), [0])
  }))
