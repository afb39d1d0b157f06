//! Images of prompts: files of the data set, named by templates, one path a line, or by a program.
//!
//! A file has its digest in the manifest of the data set, so that every process has the same bytes; a request names them by their digest.

use std::collections::BTreeMap;

use bytes::Bytes;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_benchmarks::{DataError, Picture};
use regatta_proto::{ChatMessage, Digest, FileSet, Image, Transcript, binary_size};
use serde_json::Value;

use crate::data::{self, Record, Split, Splits};
use crate::definition::{Definition, Scorer, Source, Turn};
use crate::rendering::render;
use crate::session::variables;
use crate::setting::{Choice, grid};
use crate::template::Template;

/// Largest file of an image, in bytes: in base64 it has the 5 MiB that Anthropic takes at most, which is the least of all providers.
pub(crate) const IMAGE_BYTES_MAX: usize = 3840 << 10;
/// Most images of a conversation, which is what Bedrock takes.
const IMAGES_MAX: usize = 20;
/// Most bytes of a conversation's images: in base64 they fit into a request to Gemini, and into one to a simulated model.
const CONVERSATION_BYTES_MAX: u64 = 10 << 20;
/// Most files of images. A submission has 10,000 files at most.
const FILES_MAX: usize = 9_900;
/// Most bytes of all images, which every process of a sweep has in memory.
const ALL_BYTES_MAX: u64 = 256 << 20;

/// Images of the data set by path.
pub(crate) type Images = BTreeMap<String, Image>;

/// The place that first named an image: the field of the definition, and the line of the data.
struct Mention {
    field: String,
    data: String,
    line: usize,
}

/// Paths that `template`, which is at `path` of the file, makes of a record.
///
/// # Errors
/// When it makes no text, or a line of it is no path in the folder.
pub(crate) fn paths(
    source: &Source,
    path: &str,
    template: &Template,
    split: &Split,
    record: &Record,
    variables: minijinja::Value,
) -> Result<Vec<String>, DataError> {
    let text = render(source, path, template, &split.path, record, variables)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let checked = lines.map(|line| match data::check_inside(line) {
        Ok(()) => Ok(line.to_owned()),
        Err(problem) => {
            Err(source.problem(path, format!("{problem}; filled from {} line {}", split.path, record.line)))
        }
    });
    checked.collect()
}

/// Paths that a message of a column names in `images`.
///
/// # Errors
/// When that is no list of paths in the folder. `field` is the place of the column's name in the file.
pub(crate) fn paths_of(
    source: &Source,
    field: &str,
    split: &Split,
    record: &Record,
    message: &Value,
) -> Result<Vec<String>, DataError> {
    let problem = |problem: &str| {
        source.problem(field, format!("{} line {}: the `images` of a message {problem}", split.path, record.line))
    };
    let list = match message.get("images") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(problem("must be a list of paths")),
    };
    let path = |path: &Value| {
        let path = path.as_str().ok_or_else(|| problem("must be a list of paths"))?;
        data::check_inside(path).map_err(|wrong| problem(&format!("are wrong: {wrong}")))?;
        Ok(path.to_owned())
    };
    list.iter().map(path).collect()
}

/// Files of the folder that hold the images which the records name. None as long as a file of records is not there: it has to be read first.
///
/// # Errors
/// When the records cannot be read, or a template makes no paths of one.
pub(crate) fn files(source: &Source, definition: &Definition, files: &FileSet) -> Result<Vec<String>, DataError> {
    if namings(source, definition)?.is_empty() || !data::are_there(source, definition, files)? {
        return Ok(Vec::new());
    }
    let splits = data::read(source, definition, files)?;
    let grid = grid(source, &definition.settings)?;
    Ok(mentioned(source, definition, &splits, &grid)?.into_keys().collect())
}

/// Reads the images that the records name in any setting.
///
/// # Errors
/// When one is not there, is none, or is too large; or when all together are.
pub(crate) fn read(
    source: &Source,
    definition: &Definition,
    splits: &Splits,
    grid: &[Choice],
    files: &FileSet,
) -> Result<Images, DataError> {
    let mut images = Images::new();
    let mut all: u64 = 0;
    for (path, Mention { field, data, line }) in mentioned(source, definition, splits, grid)? {
        let Some(content) = files.get(&path) else {
            let hint = format!("{field} of benchmark.yaml names it, for {data} line {line}");
            return Err(DataError::MissingFile { origin: files.origin().to_owned(), path, hint });
        };
        let file = SourceLocation::file(files.origin(), &path);
        let image = image(&file, content)?;
        all += image.bytes;
        if all > ALL_BYTES_MAX {
            let problem = format!("names images of more than {} in all; make them smaller", binary_size(ALL_BYTES_MAX));
            return Err(source.problem(&field, problem));
        }
        images.insert(path, image);
    }
    Ok(images)
}

/// Images that the records name in any setting, by path.
fn mentioned(
    source: &Source,
    definition: &Definition,
    splits: &Splits,
    grid: &[Choice],
) -> Result<BTreeMap<String, Mention>, DataError> {
    let mut mentioned = BTreeMap::new();
    for (field, split, names) in namings(source, definition)? {
        // Another field says that a split is not there.
        let Some(split) = splits.get(split) else { continue };
        for record in &split.records {
            for path in named(source, &field, names, split, record, grid)? {
                let mention = || Mention { field: field.clone(), data: split.path.clone(), line: record.line };
                mentioned.entry(path).or_insert_with(mention);
            }
            if mentioned.len() > FILES_MAX {
                return Err(source.problem(&field, format!("names more than {FILES_MAX} files; use fewer images")));
            }
        }
    }
    Ok(mentioned)
}

/// Paths that a record names in any setting.
fn named(
    source: &Source,
    field: &str,
    names: Naming<'_>,
    split: &Split,
    record: &Record,
    grid: &[Choice],
) -> Result<Vec<String>, DataError> {
    let mut all = Vec::new();
    match names {
        Naming::Template(template) => {
            for choice in grid {
                all.extend(paths(source, field, template, split, record, variables(choice, record, &[]))?);
            }
        }
        Naming::Column(column) => {
            let messages = record.fields.get(column).and_then(Value::as_array);
            for message in messages.into_iter().flatten() {
                all.extend(paths_of(source, field, split, record, message)?);
            }
        }
    }
    Ok(all)
}

/// Part of the definition that names images: a template, or a column of messages which may have `images`.
#[derive(Clone, Copy)]
enum Naming<'d> {
    Template(&'d Template),
    Column(&'d str),
}

/// Parts of the prompt, of its examples and of judges' prompts that name images: place in the file, split whose records they are about, names.
fn namings<'d>(source: &Source, definition: &'d Definition) -> Result<Vec<(String, &'d str, Naming<'d>)>, DataError> {
    let prompt = &definition.prompt;
    let examples = prompt.few_shot.iter();
    let examples = examples.map(|examples| ("prompt.few_shot.turns", examples.split.as_str(), &examples.turns));
    let mut namings = Vec::new();
    for (field, split, turns) in
        [("prompt.turns", definition.items.split.as_str(), &prompt.turns)].into_iter().chain(examples)
    {
        for (at, turn) in turns.iter().enumerate() {
            match turn {
                Turn::Images(template) => {
                    let field = format!("{field}[{at}].images");
                    if !matches!(turns.get(at + 1), Some(Turn::User(_))) {
                        let problem = "must be followed by a turn of the `user`, whose images they are";
                        return Err(source.problem(&field, problem));
                    }
                    namings.push((field, split, Naming::Template(template)));
                }
                Turn::Messages(column) => {
                    namings.push((format!("{field}[{at}].messages"), split, Naming::Column(column)));
                }
                Turn::User(_) | Turn::Assistant(_) => {}
            }
        }
    }
    for (name, scorer) in definition.scorers.iter() {
        if let Scorer::Judge(spec) = scorer
            && let Some(template) = &spec.images
        {
            let field = format!("scorers.{name}.judge.images");
            namings.push((field, definition.items.split.as_str(), Naming::Template(template)));
        }
    }
    Ok(namings)
}

/// The images among the files of a folder, which a program may show.
pub(crate) fn of_folder(files: &FileSet) -> Images {
    let may_be = files.iter().filter(|(_, content)| content.len() <= IMAGE_BYTES_MAX);
    may_be.filter_map(|(path, content)| Some((path.to_owned(), Image::of(content.clone())?))).collect()
}

/// The image in a file.
fn image(file: &SourceLocation<'_>, content: &Bytes) -> Result<Image, DataError> {
    let bytes = content.len();
    if bytes > IMAGE_BYTES_MAX {
        return Err(file.problem(format!("has {bytes} bytes, an image at most {IMAGE_BYTES_MAX}; make it smaller")));
    }
    let image = Image::of(content.clone());
    image.ok_or_else(|| file.problem("is no image that models are sent: no PNG, JPEG, GIF or WebP"))
}

/// Says that a conversation has more images than providers take, if it has.
pub(crate) fn too_many(messages: &[ChatMessage]) -> Option<String> {
    let images: Vec<&Image> = messages.iter().flat_map(|message| &message.images).collect();
    let (count, bytes) = (images.len(), images.iter().map(|image| image.bytes).sum::<u64>());
    if count > IMAGES_MAX {
        return Some(format!("has {count} images in one conversation, at most {IMAGES_MAX} are sent; use fewer"));
    }
    if bytes > CONVERSATION_BYTES_MAX {
        let (bytes, most) = (binary_size(bytes), binary_size(CONVERSATION_BYTES_MAX));
        return Some(format!("has images of {bytes} in one conversation, at most {most} are sent; make them smaller"));
    }
    None
}

/// The image with this digest.
pub(crate) fn of_digest(images: &Images, digest: &Digest) -> Option<Image> {
    images.values().find(|image| image.digest == *digest).cloned()
}

/// Pictures of the images that models were shown in a session, each once.
pub(crate) fn pictures(images: &Images, transcript: &Transcript) -> Vec<Picture> {
    shown(images, transcript).into_iter().filter_map(|(path, image)| framed(path, image)).collect()
}

/// The picture at `number` of [`pictures`].
pub(crate) fn picture(images: &Images, transcript: &Transcript, number: usize) -> Option<Picture> {
    let (path, image) = shown(images, transcript).into_iter().nth(number)?;
    framed(path, image)
}

/// The images that models were shown in a session, each once, with their paths. They come from the data set, since a transcript has their
/// digests alone.
fn shown<'i>(images: &'i Images, transcript: &Transcript) -> Vec<(&'i str, &'i Image)> {
    let mut shown: Vec<&Image> = Vec::new();
    for image in transcript.calls().flat_map(|call| call.request.images()) {
        if !shown.contains(&image) {
            shown.push(image);
        }
    }
    let known = shown.into_iter().filter_map(|image| images.iter().find(|(_, known)| *known == image));
    known.map(|(path, image)| (path.as_str(), image)).collect()
}

/// An image in a frame that it fills as far as it goes, whatever its size is.
fn framed(path: &str, image: &Image) -> Option<Picture> {
    let (media_type, data) = (image.format.media_type(), image.base64().ok()?);
    let svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 480" width="640" height="480"><image width="640" height="480" href="data:{media_type};base64,{data}"/></svg>"#
    );
    Some(Picture { title: path.to_owned(), svg, text: image.to_string() })
}

#[cfg(test)]
mod tests;
