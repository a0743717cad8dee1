//! Options together with the words that say the same.
//!
//! Takes any set of options. The words go to another `dmdprof`, or into a file, and mean the same there whatever came
//! before and behind them on this command line: what was typed, in the order in which the set declares it.

use std::ffi::OsString;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Parser, parser::ValueSource};

#[derive(Clone, Debug)]
pub struct Typed<T> {
    pub args: T,
    pub words: Vec<OsString>,
}

impl<T: Args> Args for Typed<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: Args> FromArgMatches for Typed<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Typed { words: words::<T>(matches), args: T::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn words<T: Args>(matches: &ArgMatches) -> Vec<OsString> {
    let set = T::augment_args(Command::new("set"));
    let mut words = Vec::new();
    for argument in set.get_arguments() {
        let id = argument.get_id().as_str();
        let Some(long) = argument.get_long().filter(|_| matches.value_source(id) == Some(ValueSource::CommandLine))
        else {
            continue;
        };
        if !argument.get_action().takes_values() {
            words.push(format!("--{long}").into());
            continue;
        }
        for value in matches.get_raw(id).into_iter().flatten() {
            let mut word = OsString::from(format!("--{long}="));
            word.push(value);
            words.push(word);
        }
    }
    words
}

/// What words of a set mean; they were checked before they were written down.
#[must_use]
pub fn of_words<T: Args>(words: &[String]) -> T {
    #[derive(Parser)]
    struct Alone<T: Args> {
        #[command(flatten)]
        set: T,
    }
    let words = std::iter::once("dmdprof").chain(words.iter().map(String::as_str));
    Alone::parse_from(words).set
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{options::MeasureArgs, values::ModelArg};

    #[derive(Parser)]
    struct Cli {
        #[arg(long)]
        other: bool,

        #[command(flatten)]
        measure: Typed<MeasureArgs>,

        #[arg(trailing_var_arg = true)]
        program: Vec<String>,
    }

    #[test]
    fn words_mean_what_was_typed() {
        let typed = "x --optimum --objects --roi=a --other --line-size 64,128 --roi b --line-size=32 prog --flows";
        let Err(error) = Cli::try_parse_from(typed.split(' ')) else { panic!("--roi is there twice") };
        assert!(error.to_string().contains("--roi"), "{error}");
        let typed = typed.replace(" --roi b", "");
        let cli = Cli::try_parse_from(typed.split(' ')).expect("options");
        assert!(cli.other && cli.program == ["prog", "--flows"]);
        let words: Vec<String> = cli.measure.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let all = ["--line-size=64", "--line-size=128", "--line-size=32", "--roi=a", "--optimum=32KiB,1MiB,32MiB"];
        assert_eq!(words, [&all[..], &["--objects"]].concat());
        let again: MeasureArgs = of_words(&words);
        assert_eq!(format!("{again:?}"), format!("{:?}", cli.measure.args));
        let none: MeasureArgs = of_words(&[]);
        assert!(none.stack.model == ModelArg::Memory && !none.subject.objects);
    }
}
